import type { Clock } from '../../clock.ts';
import type { BenefitsConfig } from '../../config.ts';
import { type Answer, ask } from './ask.ts';
import { type Finding, fail, pass, unknown, warn } from './finding.ts';

/** Webhooks are refused beyond 5 minutes; a clock that is off by this is on its way there. */
const CLOCK_OFF_MS = 60_000;
/** The Date header has whole seconds: on average the time is half a second further. */
const DATE_ROUNDED_MS = 500;

/** No employer has this id. */
const NO_EMPLOYER = 'benefits-sidecar-doctor';

type Answered = Exclude<Answer, { failure: string }>;

/**
 * Whether the service answers at its address, takes the key, and has the same time.
 *
 * All five endpoints of the interface are POSTs that change something, so none is tried: a GET of the census path of
 * an employer that does not exist is harmless whatever the service makes of it. What it says about the key: 401
 * means that it is refused; another answer with the key than without it means that it is taken. When both are the
 * same, the service looks at the path before the key, and only a real upload can tell. Nor can the path's prefix
 * be judged: a service may know no GET there and answer 404 or 405 at the right address too.
 */
export async function checkService({ baseUrl, apiKey }: BenefitsConfig, now: Clock): Promise<Finding[]> {
  const url = `${baseUrl}/employer/${NO_EMPLOYER}/census`;
  const began = now().getTime();
  const withKey = await ask(url, apiKey);
  const between = (began + now().getTime()) / 2;
  if ('failure' in withKey) {
    return [
      fail(
        'service.reachable',
        `no answer from the address: ${withKey.failure}`,
        'Check BENEFITS_BASE_URL, the name server, the firewall and the proxy.',
      ),
      unknown('service.key', 'not checked: the service does not answer'),
      unknown('clock', 'not checked: the service does not answer'),
    ];
  }
  return [checkReachable(withKey), checkKey(withKey, await ask(url, null)), checkClock(withKey, between)];
}

function checkReachable({ status }: Answered): Finding {
  const id = 'service.reachable';
  if (status >= 300 && status < 400) {
    return fail(
      id,
      `it redirects (${status}), which is not followed: the key would go elsewhere`,
      'Set BENEFITS_BASE_URL to the final address.',
    );
  }
  if (status >= 500)
    return warn(id, `it answers ${status}`, 'The service has trouble: requests wait and are retried.');
  return pass(id, 'it answers');
}

function checkKey({ status }: Answered, withoutKey: Answer): Finding {
  const id = 'service.key';
  const without = 'failure' in withoutKey ? null : withoutKey.status;
  if (status === 401) {
    return fail(
      id,
      'the service refuses the key (401)',
      'Set BENEFITS_API_KEY to a key of this environment.',
    );
  }
  if (status === 403) {
    return warn(
      id,
      'the service answers 403 for an employer that does not exist',
      'Either it hides unknown employers so, or the key may not do this: see the first upload.',
    );
  }
  if (without === 401 || without === 403) return pass(id, `taken (${status} with it, ${without} without)`);
  return unknown(id, `the service answers ${status} with the key and without it: the first upload tells`);
}

function checkClock({ date }: Answered, between: number): Finding {
  const id = 'clock';
  if (date === null) return unknown(id, 'the service sends no Date header to compare with');
  const off = Math.round((between - date.getTime() - DATE_ROUNDED_MS) / 1_000);
  const message = `${Math.abs(off)} s ${off < 0 ? 'behind' : 'ahead of'} the service's`;
  if (Math.abs(off) * 1_000 <= CLOCK_OFF_MS) return pass(id, message);
  return fail(id, message, 'Set the clock by a time server: webhooks more than 5 minutes off are refused.');
}
