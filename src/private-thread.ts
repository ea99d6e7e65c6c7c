/** The main thread's end of the private side's worker thread. */
import { extname } from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';
import { answerCensus, type CensusFunction } from './census/source-function.ts';
import type { Config } from './config.ts';
import type { Log, LogFields } from './observe/log.ts';
import type { Receiving } from './observe/receiving.ts';

/** How long the private side may take to stop: its requests in flight end or are left to be taken over. */
const STOPS_WITHIN_MS = 8_000;

/** Half of the runtime's own: 12 MiB less at rest, and payroll runs took no longer (npm run bench -- --payroll). */
const YOUNG_GENERATION_MB = 24;

/** Runs as source and as built code: the entry beside this file has the same extension. */
const ENTRY = new URL(`./private-entry${extname(import.meta.url)}`, import.meta.url);

/** What the thread begins with. `asksForCensus`: a function of the embedding program gives it. */
export type ThreadData = { config: Config; asksForCensus: boolean };
export type ToThread = { say: 'wake send' } | { say: 'wake apply'; events: number } | { say: 'stop' };
export type FromThread =
  | { say: 'wake apply' }
  | { say: 'listening'; address: string }
  /** Its parts are asked for, and answered, on the port. */
  | { say: 'census'; employerId: string; port: MessagePort }
  /** What the main thread has counted is answered on the port. */
  | { say: 'receiving'; port: MessagePort }
  | { say: 'log'; level: keyof Log; fields: LogFields; message: string }
  | { say: 'failed'; error: Failure };

/** What the command line needs of an error to say what to do; an Error itself loses its code on the way. */
export type Failure = { message: string; code?: string; address?: string; port?: number };

export type PrivateThread = {
  /** The address of the private listener; rejects when it can't start. */
  readonly listening: Promise<string>;
  wakeSend(): void;
  /** Where that side applies: so many more events are in the inbox. */
  wakeApply(events: number): void;
  /** May be called again. */
  stop(): Promise<void>;
};

/** Starts the private side on a thread of its own. `failed` is told when it ends without having been stopped. */
export function startPrivateThread(
  config: Config,
  on: {
    log: Log;
    census: CensusFunction | null;
    receiving: () => Receiving;
    wakeApply: () => void;
    failed: (error: Error) => void;
  },
): PrivateThread {
  const listening = Promise.withResolvers<string>();
  const exited = Promise.withResolvers<void>();
  let stopping = false;
  const worker = new Worker(ENTRY, {
    workerData: { config, asksForCensus: on.census !== null } satisfies ThreadData,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  const fail = (error: Error): void => {
    listening.reject(error);
    if (!stopping) on.failed(error);
  };
  worker.on('message', (message: FromThread) => {
    if (message.say === 'wake apply') on.wakeApply();
    else if (message.say === 'log') on.log[message.level](message.fields, message.message);
    else if (message.say === 'listening') listening.resolve(message.address);
    else if (message.say === 'receiving') message.port.postMessage(on.receiving());
    else if (message.say === 'census') {
      if (on.census !== null) answerCensus(on.census, message.employerId, message.port);
    } else fail(Object.assign(new Error(message.error.message), message.error));
  });
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error('the private side failed')));
  worker.on('exit', () => {
    exited.resolve();
    fail(new Error('the private side ended'));
  });
  // Whoever starts the sidecar waits for it; a failure before that must not end the process by itself.
  listening.promise.catch(() => {});
  const tell = (message: ToThread): void => worker.postMessage(message);
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    stopping = true;
    tell({ say: 'stop' });
    const late = setTimeout(() => worker.terminate(), STOPS_WITHIN_MS);
    await exited.promise;
    clearTimeout(late);
  };
  return {
    listening: listening.promise,
    wakeSend: () => tell({ say: 'wake send' }),
    wakeApply: (events) => tell({ say: 'wake apply', events }),
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
