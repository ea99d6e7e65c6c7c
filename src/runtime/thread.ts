/** What the worker threads of a sidecar have in common: each listens, or says why not, and is stopped. */
import { extname } from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';

/** Half of the runtime's own: payroll runs take no longer, deliveries neither (npm run bench), and the memory is less. */
const YOUNG_GENERATION_MB = 24;
/** How long a thread may take to stop: its requests in flight end or are left to be taken over. */
const STOPS_WITHIN_MS = 8_000;

/** What the command line needs of an error to say what to do; an Error itself loses its code on the way. */
export type Failure = { message: string; code?: string; address?: string; port?: number };

/** What every one of them says. */
export type Saying = { say: 'listening'; address: string } | { say: 'failed'; error: Failure };
/** What every one of them is told. */
export type Told = { say: 'stop' };

export type Thread<To> = {
  /** Where it listens; rejects when it can't start. */
  readonly listening: Promise<string>;
  tell(message: To, transfer?: readonly MessagePort[]): void;
  /** May be called again. */
  stop(): Promise<void>;
};

/** `entry` is the file beside this one, without its extension, that the thread runs; `called`: what people call it. */
export type ThreadOptions = { entry: string; called: string; data: unknown };

/** Starts one. `message` is told what it says beyond the above, `failed` when it ends without having been stopped. */
export function startThread<To, From>(
  { entry, called, data }: ThreadOptions,
  on: { message: (message: From) => void; failed: (error: Error) => void },
): Thread<To> {
  const listening = Promise.withResolvers<string>();
  const exited = Promise.withResolvers<void>();
  let stopping = false;
  // Runs as source and as built code: the entry has the same extension as this file.
  const worker = new Worker(new URL(`./${entry}${extname(import.meta.url)}`, import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  const fail = (error: Error): void => {
    listening.reject(error);
    if (!stopping) on.failed(error);
  };
  worker.on('message', (message: Saying | From) => {
    const { say } = message as Saying;
    if (say === 'listening') listening.resolve((message as Saying & { say: 'listening' }).address);
    else if (say === 'failed') fail(errorOf((message as Saying & { say: 'failed' }).error));
    else on.message(message as From);
  });
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(`${called} failed`)));
  worker.on('exit', () => {
    exited.resolve();
    fail(new Error(`${called} ended`));
  });
  // Whoever starts the sidecar waits for it; a failure before that must not end the process by itself.
  listening.promise.catch(() => {});
  const tell = (message: To | Told, transfer: readonly MessagePort[] = []): void =>
    worker.postMessage(message, transfer);
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
    tell,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** What is left of an error on its way to another thread. */
export function failureOf(error: unknown): Failure {
  const { message = 'unknown error', code, address, port } = (error ?? {}) as Partial<Failure>;
  return {
    message,
    ...(code !== undefined && { code }),
    ...(address !== undefined && { address }),
    ...(port !== undefined && { port }),
  };
}

function errorOf(failure: Failure): Error {
  return Object.assign(new Error(failure.message), failure);
}
