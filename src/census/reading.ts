import { setImmediate as turn } from 'node:timers/promises';
import type { Problem } from '../contract/check.ts';

/** What both formats share: the pieces a census is read into, and the limits of reading. */

/**
 * One census. Upwards of 400,000 employees at 600 bytes each: more than any employer of the country has in one
 * census, and few enough seconds to check and upload.
 */
export const CENSUS_BYTES_MAX = 256 * 1024 * 1024;
/**
 * One employee or the organization. A real one has about 600 bytes; one is held in memory whole, and a field
 * without end must not be.
 */
export const ELEMENT_BYTES_MAX = 1024 * 1024;
/** What is kept of every row is its id, to see it twice: this bounds them. No more fit into the bytes above. */
export const EMPLOYEES_MAX = 1_000_000;
/** Bytes handled in one turn of the event loop: a few milliseconds. */
const SLICE_BYTES = 64 * 1024;

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

export type CensusFormat = 'json' | 'csv';

export type CensusContent = {
  readonly format: CensusFormat;
  readonly content: AsyncIterable<Uint8Array>;
  /** The organization as JSON, for a CSV, which has no place for it. */
  readonly organization?: Uint8Array | null;
};

/** Employees come in the order of the rows; one that can't be read has its place too. */
export type Piece =
  | { readonly kind: 'organization'; readonly value: unknown }
  | { readonly kind: 'employee'; readonly value: unknown }
  /** An employee that could not be read; the reading goes on behind it. */
  | { readonly kind: 'unreadable-employee'; readonly rule: string }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** The rest of the census can't be read. A breach like any other, but the last one. */
export class Unreadable extends Error {
  readonly code = 'CENSUS_UNREADABLE';
  readonly problem: Problem;
  constructor(path: string, rule: string) {
    super(rule);
    this.problem = { path, rule };
  }
}

/** The path of a row, the first one being 0. */
export function employeePath(index: number): string {
  return `employees[${index}]`;
}

/**
 * The same bytes in slices, without a byte order mark, a turn of the event loop for each. Throws `Unreadable`
 * beyond the limit and the signal's reason once it aborts.
 */
export async function* slices(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal | null = null,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of withoutMark(content)) {
    bytes += part.length;
    if (bytes > CENSUS_BYTES_MAX) {
      throw new Unreadable('', `must be at most ${CENSUS_BYTES_MAX / 1024 / 1024} MiB`);
    }
    for (let from = 0; from < part.length; from += SLICE_BYTES) {
      signal?.throwIfAborted();
      yield part.subarray(from, from + SLICE_BYTES);
      await turn();
    }
  }
}

/** Editors put a byte order mark before UTF-8; neither format wants it. It may come in three parts. */
async function* withoutMark(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begin: Buffer | null = Buffer.alloc(0);
  for await (const part of content) {
    if (begin === null) {
      yield part;
      continue;
    }
    begin = Buffer.concat([begin, part]);
    if (begin.length < BYTE_ORDER_MARK.length) continue;
    yield begin.subarray(begin.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0);
    begin = null;
  }
  if (begin !== null) yield begin;
}

export const TOO_LARGE = `must be at most ${ELEMENT_BYTES_MAX / 1024 / 1024} MiB`;
