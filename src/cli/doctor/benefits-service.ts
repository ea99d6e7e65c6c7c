/** Checks of the benefits service, the census source and the receiver of notifications. */
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { type Dispatcher, request } from 'undici';
import type { Clock } from '../../clock.ts';
import { type BenefitsConfig, type CensusConfig, requiredApiKey } from '../../config.ts';
import { codeOf } from '../../errors.ts';
import type { NotifyConfig } from '../../notify-config.ts';
import { createAgent, failureCode } from '../../outgoing.ts';
import { type ProxyConfig, proxyFor } from '../../proxy-config.ts';
import { VERSION } from '../../version.ts';
import { counted } from '../output.ts';
import { type Finding, fail, pass, unknown, type Verdict, warn } from './finding.ts';

/** Webhooks are refused beyond 5 minutes. A clock that is off by this much is on its way there. */
const CLOCK_OFF_S = 60;
/** The Date header has whole seconds, so the real time is half a second later on average. */
const DATE_ROUNDED_MS = 500;

/** No employer has this id. */
const NO_EMPLOYER = 'benefits-sidecar-doctor';

type Received = Exclude<Reply, { failure: string }>;

/**
 * Checks that the service responds, accepts the key and has the same time.
 *
 * All endpoints of the contract are POSTs that change something, so this sends a GET of the census path of an employer
 * that does not exist. The path's prefix can't be checked, because the right address may respond with 404 or 405 too.
 */
export async function checkService(
  benefits: BenefitsConfig,
  now: Clock,
  proxy: ProxyConfig,
): Promise<Finding[]> {
  const apiKey = requiredApiKey(benefits);
  const url = `${benefits.baseUrl}/employer/${NO_EMPLOYER}/census`;
  const began = now().getTime();
  const withKey = await get(url, apiKey, proxy);
  const way = through(url, proxy);
  const between = (began + now().getTime()) / 2;
  if ('failure' in withKey) {
    const advice = 'Check BENEFITS_BASE_URL, DNS, the firewall and the proxy.';
    const skipped = unknown('not checked: the service does not respond');
    return [
      { id: 'service.reachable', ...fail(`no response${way}: ${withKey.failure}`, advice) },
      { id: 'service.key', ...skipped },
      { id: 'clock', ...skipped },
    ];
  }
  return [
    { id: 'service.reachable', ...checkReachable(withKey, way) },
    { id: 'service.key', ...checkKey(withKey, await get(url, null, proxy)) },
    { id: 'clock', ...checkClock(withKey, between) },
  ];
}

/** Names the proxy that requests to an address pass. */
function through(url: string, proxy: ProxyConfig): string {
  const host = proxyFor(url, proxy);
  return host === null ? '' : ` through the proxy ${host}`;
}

function checkReachable({ status }: Received, way: string): Verdict {
  if (isRedirect(status)) return redirected(status, 'Set BENEFITS_BASE_URL to the final address.');
  if (status < 500) return pass(`it responds${way}`);
  const advice = 'The service has a problem. Requests are retried until it recovers.';
  return warn(`it responds with ${status}${way}`, advice);
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

function redirected(status: number, advice: string): Verdict {
  return fail(`it redirects (${status}), and redirects are not followed`, advice);
}

/**
 * A 401 means that the key is refused; a different response without the key means that it is accepted. Equal responses
 * leave it unknown.
 */
function checkKey({ status }: Received, withoutKey: Reply): Verdict {
  const without = 'failure' in withoutKey ? null : withoutKey.status;
  if (status === 401) {
    const advice = 'Set BENEFITS_API_KEY to a key of this environment.';
    return fail('the service rejects the API key (401)', advice);
  }
  if (status === 403) {
    return warn(
      'the service responds with 403 for an employer that does not exist',
      'Either it hides unknown employers, or the key lacks a permission. The first upload shows which.',
    );
  }
  if (without === 401 || without === 403)
    return pass(`accepted (${status} with the key, ${without} without it)`);
  return unknown(
    `the service responds with ${status} with and without the key: the first upload shows whether it is accepted`,
  );
}

function checkClock({ date }: Received, between: number): Verdict {
  if (date === null) return unknown('the service sends no Date header to compare with');
  const off = Math.round((between - date.getTime() - DATE_ROUNDED_MS) / 1_000);
  const message = `${Math.abs(off)} s ${off < 0 ? 'behind' : 'ahead of'} the clock of the service`;
  if (Math.abs(off) <= CLOCK_OFF_S) return pass(message);
  const advice = 'Synchronize the clock with a time server. Webhooks more than 5 minutes off are rejected.';
  return fail(message, advice);
}

/** Checks that the source of censuses is there. For `push` the check of staged censuses does. */
export async function checkCensusSource(
  { source, token }: CensusConfig,
  proxy: ProxyConfig,
): Promise<Verdict | null> {
  if (source.kind === 'dir') return checkFolder(source.path);
  return source.kind === 'http' ? checkEndpoint(source.url, token, proxy) : null;
}

function checkFolder(path: string): Verdict {
  const advice = 'Set CENSUS_SOURCE=dir:PATH to a folder that this user can read.';
  try {
    if (!statSync(path).isDirectory()) return fail(`${path} is not a folder`, advice);
    accessSync(path, constants.R_OK | constants.X_OK);
  } catch (error) {
    return fail(`${path} cannot be read: ${codeOf(error)}`, advice);
  }
  const isCensus = (name: string) => /\.(json|csv)$/.test(name) && !name.endsWith('.organization.json');
  const censuses = readdirSync(path).filter(isCensus).length;
  if (censuses > 0) return pass(`${path} has ${counted(censuses, 'census', 'censuses')}`);
  return warn(`${path} has no census`, 'Save each census there as EMPLOYER_ID.json or EMPLOYER_ID.csv.');
}

/** Requests the census of an employer that does not exist: a working source responds with 404. */
async function checkEndpoint(template: string, token: string | null, proxy: ProxyConfig): Promise<Verdict> {
  const url = template.replaceAll('{employer_id}', NO_EMPLOYER);
  const reply = await get(url, token, proxy);
  const way = through(url, proxy);
  const advice = "Correct CENSUS_SOURCE, CENSUS_SOURCE_TOKEN or payroll's endpoint.";
  if ('failure' in reply) return fail(`no response${way}: ${reply.failure}`, advice);
  const { status } = reply;
  if (status === 401 || status === 403) return fail(`it rejects the token (${status})`, advice);
  if (isRedirect(status)) return redirected(status, advice);
  if (status >= 500) return warn(`it responds with ${status} for an employer that does not exist`, advice);
  return pass(`it responds${way} (${status} for an employer that does not exist)`);
}

/** Checks that the receiver of notifications responds. It need not know GET, and a notification may show that it refuses ours. */
export async function checkNotified(
  notify: NotifyConfig | null,
  proxy: ProxyConfig,
): Promise<Verdict | null> {
  if (notify === null) return null;
  const reply = await get(notify.url, null, proxy);
  const way = through(notify.url, proxy);
  const advice =
    'Check NOTIFY_URL, the receiver, DNS, the firewall and the proxy. Notifications wait for it for 72 hours.';
  if ('failure' in reply) return fail(`no response${way}: ${reply.failure}`, advice);
  if (isRedirect(reply.status)) return redirected(reply.status, 'Set NOTIFY_URL to the final address.');
  if (reply.status >= 500) return warn(`it responds with ${reply.status}${way}`, advice);
  return pass(
    `it responds${way}: "benefits-sidecar notification test" shows whether it accepts notifications`,
  );
}

/** A slower server would not do for an upload either. */
const RESPONSE_MS = 10_000;

type Reply = { status: number; date: Date | null } | { failure: string };

/** Sends one GET, with or without a bearer token. Follows no redirect. Never throws. */
async function get(url: string, token: string | null, proxy: ProxyConfig): Promise<Reply> {
  const agent: Dispatcher = createAgent(proxy);
  try {
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    const { statusCode, headers, body } = await request(url, {
      headers: { 'user-agent': `benefits-sidecar/${VERSION}`, ...authorization },
      dispatcher: agent,
      signal: AbortSignal.timeout(RESPONSE_MS),
    });
    await body.dump({ limit: 64 * 1024 });
    const date = new Date([headers.date].flat()[0] ?? '');
    return { status: statusCode, date: Number.isNaN(date.getTime()) ? null : date };
  } catch (error) {
    return { failure: failureCode(error) };
  } finally {
    await agent.destroy();
  }
}
