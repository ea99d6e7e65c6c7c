/** The command that replays events from files to a running receiver. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { address } from '../cli/arguments.ts';
import type { Command, Context } from '../cli/command.ts';
import { failed } from '../cli/failure.ts';
import { counted, printable, printResult, withProgress } from '../cli/output.ts';
import { readReceiver, readWebhookSecrets } from '../config.ts';
import { codeOf } from '../errors.ts';
import { addressToReach } from '../outgoing.ts';
import { type Fixture, loadFixtures } from '../simulator/events.ts';
import { signEvent } from '../simulator/sign.ts';

export function addReplayCommand(program: Command): void {
  program
    .subcommand('replay', 'Sign events from files and send them to a running sidecar.')
    .records('none')
    .examples('replay fixtures/', 'replay event.json --url http://127.0.0.1:8080/webhooks')
    .argument('<file...>', 'Files with events, or folders of such files')
    .option('--url <url>', 'The webhook URL (default: from RECEIVER_HOST and RECEIVER_PORT)', address)
    .option('--force', 'Also if BENEFITS_ENVIRONMENT is live, where the ledger keeps the events permanently')
    .json()
    .does(replay);
}

type Options = { url?: string; force?: true };

/** The result of one event: `outcome` is the status, or why there was none. */
type Posted = { file: string; delivered: boolean; outcome: string };

/** The contract's limit for an acknowledgment. */
const RESPONSE_MS = 15_000;

/** Advice by the status of a response other than 2xx, or by the error's code. */
const ADVICE: Readonly<Record<string, string>> = {
  401: 'The sidecar rejected the signature. Compare WEBHOOK_SECRETS and the clocks, which may differ by 5 minutes.',
  404: 'The URL does not lead to a webhook receiver. Set it with --url.',
  413: 'The event is larger than the sidecar accepts.',
  503: 'The sidecar could not store the event. Read its log, then replay again.',
  ECONNREFUSED: 'Nothing listens at the URL. Start "benefits-sidecar serve", or set the URL with --url.',
};

/** Posts events in the order of their names, each signed when it is sent. Follows no redirect. */
async function replay(context: Context, paths: string[], options: Options): Promise<number> {
  const { env, out, now, stopped } = context;
  if (env.BENEFITS_ENVIRONMENT?.trim() === 'live' && options.force !== true) {
    throw failed(
      'BENEFITS_ENVIRONMENT is live, and its ledger keeps replayed events permanently: use a sandbox, or add --force',
    );
  }
  const [secret] = readWebhookSecrets(env);
  if (secret === undefined)
    throw failed('WEBHOOK_SECRETS has no secret to sign with: set it as the sidecar has it');
  const url = options.url ?? `${addressToReach(readReceiver(env))}/webhooks`;
  const events = paths.flatMap((path) => loadFixtures(path));
  const signal = stopped();
  const dispatcher = new Agent({ headersTimeout: RESPONSE_MS, bodyTimeout: RESPONSE_MS });
  const post = async ({ file, id, body }: Fixture): Promise<Posted> => {
    const text = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', ...signEvent(secret, id, now(), text) };
    try {
      const response = await request(url, { method: 'POST', headers, body: text, dispatcher, signal });
      await response.body.dump();
      const { statusCode } = response;
      return { file, delivered: statusCode >= 200 && statusCode < 300, outcome: String(statusCode) };
    } catch (error) {
      return { file, delivered: false, outcome: codeOf(error) || (error as Error).name };
    }
  };
  const posted: Posted[] = [];
  await withProgress(out, 'events', events.length, async ({ set }) => {
    for (const event of events) {
      if (signal.aborted) return;
      posted.push(await post(event));
      set(posted.length);
    }
  }).finally(() => dispatcher.destroy());
  return printPosted(context, url, events.length, posted);
}

function printPosted({ out }: Context, url: string, events: number, posted: readonly Posted[]): number {
  const failures = posted.filter((event) => !event.delivered);
  const delivered = posted.length - failures.length;
  const byOutcome = Map.groupBy(failures, ({ outcome }) => outcome);
  const refused = Object.fromEntries([...byOutcome].map(([outcome, some]) => [outcome, some.length]));
  printResult(out, { url, events, delivered, refused }, () => {
    out.print(printable(`${delivered} of ${counted(events, 'event')} delivered to ${url}`));
    for (const [outcome, some] of byOutcome) {
      const files = some.slice(0, 5).map(({ file }) => file);
      if (some.length > files.length) files.push('…');
      out.print(`${some.length} failed with ${outcome}: ${printable(files.join(', '))}`);
      if (ADVICE[outcome] !== undefined) out.note(ADVICE[outcome]);
    }
  });
  if (posted.length < events) out.note(`Stopped: ${counted(events - posted.length, 'event')} not sent.`);
  return delivered === events ? 0 : 1;
}

/** Often enough for the person who starts the sidecar, and no load. */
const LOOK_EVERY_MS = 500;

/** Resolves with true once the address accepts connections, or with false when the signal aborts. */
export async function untilItListens(url: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    if (await listens(new URL(url))) return true;
    await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return false;
}

function listens({ hostname, port, protocol }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
      timeout: LOOK_EVERY_MS,
    });
    const end = (isListening: boolean) => () => {
      socket.destroy();
      resolve(isListening);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
}
