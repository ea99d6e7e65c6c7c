/**
 * The protocol between the threads of a sidecar. The main thread starts the API thread and, on SQLite, the receiver thread.
 * A worker reports its address or why it failed, exchanges the messages below, and stops on request.
 */
import { once } from 'node:events';
import { extname } from 'node:path';
import {
  MessageChannel,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';
import { type CensusFunction, serveCensus } from '../census/source.ts';
import type { Config } from '../config.ts';
import type { LockTurns } from '../database/sqlite.ts';
import { AppError, type PostedError, postedError, receivedError } from '../errors.ts';
import { type IntakeBatch, storeIntakeBatch } from '../inbox/intake-channel.ts';
import type {
  Downstream,
  Receiver,
  ReceiverConfig,
  ReceiverCounts,
  RefusalCause,
} from '../inbox/receiver.ts';
import type { Receiving } from '../telemetry/counts.ts';
import type { Log, LogFields } from '../telemetry/log.ts';

/** Bounds of a worker's heap, in MiB. By default they grow with the machine (docs/internals/benches/findings.md#memory). */
const HEAP = { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: 1024 };
/** How long a stop waits for requests in flight. The next start continues unfinished requests. */
const STOP_WITHIN_MS = 8_000;
/** A thread responds between two pieces of its work. One that takes longer is in trouble. */
const RESPOND_WITHIN_MS = 2_000;

/** A response is expected on `port`. */
type Request<Type extends string> = { type: Type; port: MessagePort };

export type ToApi = { type: 'wake-send' } | { type: 'wake-apply'; events: number | undefined };
export type FromApi =
  | { type: 'wake-apply' }
  | (Request<'census'> & { employerId: string })
  | Request<'counts'>
  | { type: 'log'; level: keyof Log; fields: LogFields; message: string };

export type ToReceiver = { type: 'stored'; batch: number; unstored: readonly number[] } | Request<'counts'>;
export type FromReceiver =
  | ({ type: 'arrived' } & IntakeBatch)
  | { type: 'refused'; cause: RefusalCause }
  | { type: 'dropped'; count: number }
  | Request<'alive'>
  | Request<'ready'>;

/** The messages that every worker sends and receives. */
type FromWorker = { type: 'listening'; address: string } | { type: 'failed'; error: PostedError };
type ToWorker = { type: 'stop' };

/**
 * `applies`: the thread runs the apply loop. `hasCensusFunction`: censuses come from the embedding program.
 * `latestStored`: the newest time that the database held at the start.
 */
export type ApiThreadData = {
  config: Config;
  applies: boolean;
  hasCensusFunction: boolean;
  latestStored: string | null;
  lockTurns: LockTurns;
};

/** Starts the API thread. `failed` is called if it ends without a stop. */
export function startApiThread(
  config: Config,
  on: {
    applies: boolean;
    latestStored: string | null;
    lockTurns: LockTurns;
    census: CensusFunction | null;
    log: Log;
    counts: () => Promise<Receiving>;
    wakeApply: () => void;
    failed: (error: Error) => void;
  },
) {
  const { applies, latestStored, lockTurns, census, log } = on;
  const data: ApiThreadData = {
    ...{ config, applies, latestStored, lockTurns },
    hasCensusFunction: census !== null,
  };
  const thread = startThread<ToApi, FromApi>('api-thread', 'the API thread', data, {
    receive(message) {
      if (message.type === 'wake-apply') on.wakeApply();
      else if (message.type === 'log') log[message.level](message.fields, message.message);
      else if (message.type === 'counts') respond(message.port, on.counts());
      else if (census !== null) serveCensus(census, message.employerId, message.port);
    },
    failed: on.failed,
  });
  return {
    /** The address of the private listener. Rejects if the thread can't start. */
    listening: thread.listening,
    wakeSend: (): void => thread.send({ type: 'wake-send' }),
    /** Signals that `events` more events are pending (unknown if omitted). */
    wakeApply: (events?: number): void => thread.send({ type: 'wake-apply', events }),
    stop: thread.stop,
  };
}

/** Starts the receiver thread. Rejects if the port is taken. `failed` is called if it ends without a stop. */
export async function startReceiverThread(
  { receiver, webhookSecrets }: ReceiverConfig,
  downstream: Downstream,
  failed: (error: Error) => void,
): Promise<Receiver> {
  // Only what it needs: the thread that parses unauthenticated requests has no other key or token.
  const data: ReceiverConfig = { receiver, webhookSecrets };
  const thread = startThread<ToReceiver, FromReceiver>('receiver-thread', 'the receiver thread', data, {
    async receive(message, send) {
      if (message.type === 'refused') downstream.refused(message.cause);
      else if (message.type === 'dropped') downstream.dropped(message.count);
      else if (message.type === 'ready') respond(message.port, downstream.isReady());
      else if (message.type === 'alive') respond(message.port, downstream.isAlive());
      else {
        const unstored = await storeIntakeBatch(message, downstream.accept);
        send({ type: 'stored', batch: message.batch, unstored });
      }
    },
    failed,
  });
  return {
    address: await thread.listening,
    counts: () => request<ReceiverCounts>((port) => thread.send({ type: 'counts', port }, [port])),
    stop: thread.stop,
  };
}

/** Starts a worker. `entry` is a file of this folder without its extension; `name` is for messages. */
function startThread<To, From>(
  entry: string,
  name: string,
  data: unknown,
  on: { receive: (message: From, send: (message: To) => void) => void; failed: (error: Error) => void },
) {
  const listening = Promise.withResolvers<string>();
  const exited = Promise.withResolvers<void>();
  let stopping: Promise<void> | null = null;
  // The entry has the extension of this file: .ts in the source, .js when built.
  const worker = new Worker(new URL(`./${entry}${extname(import.meta.url)}`, import.meta.url), {
    workerData: data,
    resourceLimits: HEAP,
  });
  const send = (message: To | ToWorker, transfer: readonly MessagePort[] = []) =>
    worker.postMessage(message, transfer);
  const fail = (error: Error): void => {
    listening.reject(error);
    if (stopping === null) on.failed(error);
  };
  worker.on('message', (message: From | FromWorker) => {
    const control = message as FromWorker;
    if (control.type === 'listening') listening.resolve(control.address);
    else if (control.type === 'failed') fail(receivedError(control.error));
    else on.receive(message as From, send);
  });
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(`${name} failed`)));
  worker.on('exit', () => {
    exited.resolve();
    fail(new Error(`${name} ended`));
  });
  // The caller awaits it later. A failure before that must not end the process as an unhandled rejection.
  listening.promise.catch(() => {});
  const stop = async (): Promise<void> => {
    send({ type: 'stop' });
    const late = setTimeout(() => worker.terminate(), STOP_WITHIN_MS);
    await exited.promise;
    clearTimeout(late);
  };
  return {
    listening: listening.promise,
    send,
    stop(): Promise<void> {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** The main thread, as a worker sees it. */
export type MainThread<From> = {
  send(message: From, transfer?: readonly (ArrayBuffer | MessagePort)[]): void;
  /** Reports an error that the thread can't continue after. */
  failed(error: unknown): void;
};

export type Started<To> = { address: string; receive(message: To): void; stop(): Promise<void> };

/** Runs a worker until the main thread stops it. Messages that arrive during the start are handled after it. */
export function runWorker<To, From>(start: (main: MainThread<From>) => Promise<Started<To>>): void {
  const port = parentPort as MessagePort;
  const send = (message: From | FromWorker, transfer: readonly (ArrayBuffer | MessagePort)[] = []): void =>
    port.postMessage(message, transfer);
  const failed = (error: unknown): void => send({ type: 'failed', error: postedError(error) });
  const starting = start({ send, failed });
  port.on('message', async (message: To | ToWorker) => {
    const started = await starting.catch(() => null);
    if ((message as ToWorker).type !== 'stop') return started?.receive(message as To);
    await started?.stop();
    port.close();
  });
  starting.then(
    ({ address }) => send({ type: 'listening', address }),
    (error) => {
      failed(error);
      port.close();
    },
  );
}

/** Requests a value from another thread: `send` passes on the port. Throws THREAD_SILENT. */
export async function request<T>(send: (port: MessagePort) => void): Promise<T> {
  const { port1, port2 } = new MessageChannel();
  try {
    send(port2);
    const [response] = await once(port1, 'message', { signal: AbortSignal.timeout(RESPOND_WITHIN_MS) });
    return response as T;
  } catch {
    // The response may have arrived while this thread was too busy to read it.
    const arrived = receiveMessageOnPort(port1);
    if (arrived !== undefined) return arrived.message as T;
    const message = `A thread of this process did not respond within ${RESPOND_WITHIN_MS} ms.`;
    throw new AppError('THREAD_SILENT', message);
  } finally {
    port1.close();
  }
}

/** Responds on the port of a request. If `response` rejects, nothing is sent and the request times out. */
function respond(port: MessagePort, response: Promise<unknown>): void {
  response.then((value) => port.postMessage(value)).catch(() => {});
}
