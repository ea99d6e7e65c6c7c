import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Census } from '../contract/census.ts';
import type { Employee } from '../contract/employee.ts';
import { AppError, isAppError } from '../errors.ts';
import type { CensusContent } from './reading.ts';

/** Where a census is fetched from when the service requests one. With `push` there is no source. */
export type CensusFetcher = {
  /** Starts reading an employer's newest census. This and the content throw CENSUS_SOURCE_FAILED. */
  fetch(employerId: string, signal: AbortSignal): Promise<CensusContent>;
};

export function sourceFailed(why: string): AppError {
  return new AppError('CENSUS_SOURCE_FAILED', why);
}

export const CENSUS_FROM = ['push', 'dir', 'http', 'function'] as const;
export type CensusFrom = (typeof CENSUS_FROM)[number];

/** The contract's upload with our own `pay_group` and `effective_on`, which are not uploaded. */
export type GivenCensus = Omit<Census, 'employees'> & {
  readonly employees: readonly (Employee & { readonly pay_group?: string; readonly effective_on?: string })[];
};

/**
 * Returns an employer's census as an object, or as an iterable of the bytes of its JSON, which needs less
 * memory; null if there is none. `signal` aborts when the result is no longer needed. Errors are reported by
 * `code` or name, never by message, which may quote data.
 */
export type CensusFunction = (
  employerId: string,
  { signal }: { signal: AbortSignal },
) => Promise<GivenCensus | AsyncIterable<Uint8Array> | null>;

type CensusPart = { kind: 'bytes'; bytes: Uint8Array } | { kind: 'end' } | { kind: 'failed'; why: string };

/** The same limit as for a census that is fetched over HTTP. */
const WHOLE_MS = 10 * 60_000;
/** About 150 KB of JSON within 2 ms: the same thread acknowledges webhooks. */
const EMPLOYEES_A_PART = 250;

const NEITHER = 'returned neither a census with a list of employees nor the bytes of one';

/**
 * Creates a source that calls a function of the embedding program, on that program's thread. Each fetch has its own
 * channel, on which it requests the parts in sequence; `ask` passes the far end to the thread with the function.
 */
export function createFunctionSource(ask: (employerId: string, port: MessagePort) => void): CensusFetcher {
  return {
    async fetch(employerId, signal) {
      return { format: 'json', content: received((port) => ask(employerId, port), signal) };
    },
  };
}

async function* received(ask: (port: MessagePort) => void, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const late = AbortSignal.timeout(WHOLE_MS);
  const ended = AbortSignal.any([signal, late]);
  const { port1: port, port2 } = new MessageChannel();
  ask(port2);
  try {
    for (;;) {
      const arrived = once(port, 'message', { signal: ended });
      port.postMessage('next');
      const [part] = (await arrived) as [CensusPart];
      if (part.kind === 'failed') throw sourceFailed(`the census function ${part.why}`);
      if (part.kind === 'end') return;
      yield part.bytes;
    }
  } catch (error) {
    if (late.aborted) throw sourceFailed(`the census function took more than ${WHOLE_MS / 60_000} minutes`);
    throw signal.aborted
      ? sourceFailed('the census function was interrupted because the sidecar is stopping')
      : error;
  } finally {
    port.close();
  }
}

/** The end with the function, which is called when the first part is requested. */
export function serveCensus(read: CensusFunction, employerId: string, port: MessagePort): void {
  const unwanted = new AbortController();
  const parts = partsOf(read, employerId, unwanted.signal);
  port.on('message', async () => {
    // Yields to the event loop before each part, so that webhooks do not wait for many parts in a row.
    await nextTurn();
    const part = await nextOf(parts);
    port.postMessage(part, part.kind === 'bytes' ? [part.bytes.buffer as ArrayBuffer] : []);
  });
  port.on('close', () => {
    unwanted.abort();
    // The reader is gone; ignore errors from closing the stream.
    parts.return(undefined).catch(() => {});
  });
}

async function nextOf(parts: AsyncIterator<Uint8Array>): Promise<CensusPart> {
  try {
    const { done, value } = await parts.next();
    // Copied before the transfer: the buffer may be shared.
    return done === true ? { kind: 'end' } : { kind: 'bytes', bytes: new Uint8Array(value) };
  } catch (error) {
    const why = isAppError(error, 'CENSUS_SOURCE_FAILED') ? error.message : `failed: ${codeOrName(error)}`;
    return { kind: 'failed', why };
  }
}

/** Returns the bytes of the JSON of a census. */
export async function* partsOf(read: CensusFunction, employerId: string, signal: AbortSignal) {
  // The caller's code may be untyped, so its result is checked.
  const returned: unknown = await read(employerId, { signal });
  if (returned === null || returned === undefined) throw sourceFailed('has no census for this employer');
  if (typeof returned !== 'object') throw sourceFailed(NEITHER);
  if (!(Symbol.asyncIterator in returned)) return yield* jsonOf(returned);
  for await (const part of returned as AsyncIterable<unknown>) {
    if (!(part instanceof Uint8Array)) throw sourceFailed('returned a part that is not bytes');
    yield part;
  }
}

function* jsonOf(returned: object): Generator<Uint8Array> {
  const { employees, ...rest } = returned as Partial<GivenCensus>;
  if (!Array.isArray(employees)) throw sourceFailed(NEITHER);
  yield Buffer.from('{"employees":[');
  for (let at = 0; at < employees.length; at += EMPLOYEES_A_PART) {
    const rows = JSON.stringify(employees.slice(at, at + EMPLOYEES_A_PART)).slice(1, -1);
    yield Buffer.from(at === 0 ? rows : `,${rows}`);
  }
  const others = JSON.stringify(rest).slice(1);
  yield Buffer.from(others === '}' ? ']}' : `],${others}`);
}

/** Returns words of the program, not of its data: `ECONNREFUSED`, `TypeError`. */
function codeOrName(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const words = [code, name].find(
    (word) => typeof word === 'string' && /^[A-Za-z][A-Za-z_]{0,63}$/.test(word),
  );
  return typeof words === 'string' ? words : 'an error without a code';
}
