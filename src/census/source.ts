import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Census } from '../contract/census.ts';
import type { Employee } from '../contract/employee.ts';
import type { CensusContent } from './reading.ts';

/** Where a census is fetched from when the service asks for one; with `push` there is none, payroll brings it. */
export type CensusSource = {
  /**
   * Begins to read an employer's newest census. Throws `SourceFailed` when it can't be had; the content may throw
   * it later, when it breaks off.
   */
  fetch(employerId: string, signal: AbortSignal): Promise<CensusContent>;
};

/** The kinds of sources: none, a folder, an address, a function of the program that embeds the sidecar. */
export const CENSUS_FROM = ['push', 'dir', 'http', 'function'] as const;
export type CensusFrom = (typeof CENSUS_FROM)[number];

/** The source gave no census. The message says why and what to do, names no path of a file, and holds no data. */
export class SourceFailed extends Error {
  readonly code = 'CENSUS_SOURCE_FAILED';
}

/**
 * The census as a function of the program that embeds the sidecar. It runs on that program's thread, the sending on
 * another: each fetch has a channel of its own, on which this side asks for one part after the other.
 */
/** What payroll brings: the interface's upload, with our own `pay_group`, which stays here. */
export type GivenCensus = Omit<Census, 'employees'> & {
  readonly employees: readonly (Employee & {
    readonly pay_group?: string;
    readonly effective_on?: string;
  })[];
};

/**
 * Answers an employer's census: as an object, or as the bytes of its JSON in parts, which spares the memory of a large
 * one; null when there is none. `signal` is aborted when nobody waits for it any more. What it throws is told by its
 * `code`, or else its name, and never by its message, which may quote data.
 */
export type CensusFunction = (
  employerId: string,
  { signal }: { signal: AbortSignal },
) => Promise<GivenCensus | AsyncIterable<Uint8Array> | null>;

type Part = { bytes: Uint8Array } | { end: true } | { failed: string };

/** As long as a census may take that is fetched over HTTP. */
const WHOLE_MS = 10 * 60_000;
/** Some 150 KB are written as JSON within 2 ms: the thread that does it also acknowledges webhooks. */
const EMPLOYEES_A_PART = 250;

const NEITHER = 'gave neither a census, with a list of employees, nor the bytes of one';

type Ask = (employerId: string, port: MessagePort) => void;

/** The end that reads. `ask` hands the channel's other end to the thread that has the function. */
export function createFunctionSource(ask: Ask): CensusSource {
  return {
    async fetch(employerId, signal) {
      return { format: 'json', content: received(ask, employerId, signal) };
    },
  };
}

async function* received(ask: Ask, employerId: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const late = AbortSignal.timeout(WHOLE_MS);
  const ended = AbortSignal.any([signal, late]);
  const { port1: port, port2 } = new MessageChannel();
  ask(employerId, port2);
  try {
    for (;;) {
      const answered = once(port, 'message', { signal: ended });
      port.postMessage('next');
      const [part] = (await answered) as [Part];
      if ('failed' in part) throw new SourceFailed(`the census function ${part.failed}`);
      if ('end' in part) return;
      yield part.bytes;
    }
  } catch (error) {
    if (late.aborted) throw new SourceFailed(`the census function took over ${WHOLE_MS / 60_000} minutes`);
    throw signal.aborted ? new SourceFailed('the census function was not waited for: a stop') : error;
  } finally {
    port.close();
  }
}

/** The end that has the function: calls it when the first part is asked for. */
export function answerCensus(read: CensusFunction, employerId: string, port: MessagePort): void {
  const unwanted = new AbortController();
  const parts = partsOf(read, employerId, unwanted.signal);
  port.on('message', async () => {
    // In a turn of its own: asked quickly, the port would have many answered in one, and webhooks wait.
    await nextTurn();
    const part = await nextOf(parts);
    port.postMessage(part, 'bytes' in part ? [part.bytes.buffer as ArrayBuffer] : []);
  });
  port.on('close', () => {
    unwanted.abort();
    // Whoever reads has gone: what ending the stream may throw has nobody to hear it.
    parts.return(undefined).catch(() => {});
  });
}

async function nextOf(parts: AsyncIterator<Uint8Array>): Promise<Part> {
  try {
    const { done, value } = await parts.next();
    // Copied, to be handed over: the bytes may lie in a buffer that others use too.
    return done === true ? { end: true } : { bytes: new Uint8Array(value) };
  } catch (error) {
    return { failed: error instanceof SourceFailed ? error.message : `failed: ${codeOrName(error)}` };
  }
}

async function* partsOf(
  read: CensusFunction,
  employerId: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  // What comes from a program that no compiler has checked is looked at before it is used.
  const given: unknown = await read(employerId, { signal });
  if (given === null || given === undefined) throw new SourceFailed('has no census for this employer');
  if (typeof given !== 'object') throw new SourceFailed(NEITHER);
  if (!(Symbol.asyncIterator in given)) return yield* jsonOf(given);
  for await (const part of given as AsyncIterable<unknown>) {
    if (!(part instanceof Uint8Array)) throw new SourceFailed('gave a part that is not bytes');
    yield part;
  }
}

/** The census as JSON, in parts. */
function* jsonOf(given: object): Generator<Uint8Array> {
  const { employees, ...rest } = given as Partial<GivenCensus>;
  if (!Array.isArray(employees)) throw new SourceFailed(NEITHER);
  yield Buffer.from('{"employees":[');
  for (let at = 0; at < employees.length; at += EMPLOYEES_A_PART) {
    const rows = JSON.stringify(employees.slice(at, at + EMPLOYEES_A_PART)).slice(1, -1);
    yield Buffer.from(at === 0 ? rows : `,${rows}`);
  }
  const others = JSON.stringify(rest).slice(1);
  yield Buffer.from(others === '}' ? ']}' : `],${others}`);
}

/** Words of a program, not of its data: `ECONNREFUSED`, `TypeError`. */
function codeOrName(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const words = [code, name].find(
    (word) => typeof word === 'string' && /^[A-Za-z][A-Za-z_]{0,63}$/.test(word),
  );
  return typeof words === 'string' ? words : 'an error without a code';
}
