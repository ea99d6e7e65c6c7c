import { readReceiver, readWebhookSecrets } from '../config.ts';
import { type Fixture, loadFixtures } from '../simulator/events.ts';
import type { Context } from './context.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { createPoster, type Posted } from './poster.ts';
import { showProgress } from './progress.ts';
import { addressToReach } from './reach.ts';

type Options = { url?: string; concurrency: number; force?: true; json?: true };

/** What to do about an answer that was no 2xx. */
const ADVICE: Readonly<Record<string, string>> = {
  401: 'the receiver refused the signature: it has other WEBHOOK_SECRETS, or a clock that differs by 5 minutes',
  404: 'there is no receiver at this address: give its own with --url',
  413: 'the event is larger than the receiver takes',
  503: 'the receiver could not store it: see its log, then replay again',
  ECONNREFUSED: 'nothing listens there: start "benefits-sidecar serve", or give the address with --url',
};

/**
 * Signs events from files with the first configured secret and posts them to the running receiver, in order of
 * their names when one at a time. It worked when every one was answered with 2xx.
 */
export async function replay(context: Context, paths: string[], options: Options): Promise<number> {
  const { env, out, now, stopped } = context;
  if (env.BENEFITS_ENVIRONMENT?.trim() === 'live' && options.force !== true) {
    throw new CommandFailed(
      'BENEFITS_ENVIRONMENT is live, and replayed events stay in its ledger for ever: use a sandbox, or --force',
    );
  }
  const [secret] = readWebhookSecrets(env);
  if (secret === undefined) throw new CommandFailed('WEBHOOK_SECRETS has no secret to sign with');
  const url = options.url ?? `${addressToReach(readReceiver(env))}/webhooks`;
  const events = paths.flatMap((path) => loadFixtures(path));
  const signal = stopped();
  const poster = createPoster({ url, secret, now, signal });
  const progress = await showProgress(out, 'events', events.length);
  const posted: Posted[] = [];
  try {
    await inTurns(events, options.concurrency, signal, async (event) => {
      posted.push(await poster.post(event));
      progress.set(posted.length);
    });
  } finally {
    progress.end();
    await poster.close();
  }
  return tell(context, { url, events: events.length, posted }, options.json === true);
}

function tell(
  { out }: Context,
  { url, events, posted }: { url: string; events: number; posted: readonly Posted[] },
  json: boolean,
): number {
  const delivered = posted.filter((one) => one.delivered).length;
  const others = Map.groupBy(
    posted.filter((one) => !one.delivered),
    (one) => one.answer,
  );
  const refused = Object.fromEntries([...others].map(([answer, some]) => [answer, some.length]));
  if (json) out.json({ url, events, delivered, refused });
  else {
    out.print(printable(`${delivered} of ${events} delivered to ${url}`));
    for (const [answer, some] of others) {
      const files = some.slice(0, 5).map((one) => one.file);
      out.print(
        `${some.length} answered ${answer}: ${printable(files.join(', '))}${some.length > files.length ? ', …' : ''}`,
      );
      if (ADVICE[answer] !== undefined) out.note(ADVICE[answer]);
    }
  }
  if (posted.length < events) out.note(`stopped: ${events - posted.length} were not posted`);
  return delivered === events ? 0 : 1;
}

/** Works through a list, several at a time, in order of beginning; stops beginning once the signal aborts. */
async function inTurns(
  events: readonly Fixture[],
  concurrency: number,
  signal: AbortSignal,
  work: (event: Fixture) => Promise<void>,
): Promise<void> {
  const rest = events.values();
  const one = async (): Promise<void> => {
    for (const event of rest) {
      if (signal.aborted) return;
      await work(event);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, events.length) }, one));
}
