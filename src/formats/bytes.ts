import { setImmediate as turn } from 'node:timers/promises';
import type { Problem } from '../contract/check.ts';

/**
 * One element of a list, or one record of a CSV. A real one has less than a thousand bytes; one is held in memory
 * whole, and a field without end must not be.
 */
export const ELEMENT_BYTES_MAX = 1024 * 1024;

export const TOO_LARGE = `must be at most ${ELEMENT_BYTES_MAX / 1024 / 1024} MiB`;

/** The rest can't be read. Problems like any others, but the last ones; none holds a value. */
export class Unreadable extends Error {
  readonly code = 'UNREADABLE';
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super(problems.map(({ rule }) => rule).join('; '));
    this.problems = problems;
  }
}

export function unreadable(path: string, rule: string): Unreadable {
  return new Unreadable([{ path, rule }]);
}

/** The bytes of a text that comes in parts, made ready for whoever reads them. */
/** Bytes handled in one turn of the event loop: a few milliseconds. */
const SLICE_BYTES = 64 * 1024;

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * The same bytes in slices, without a byte order mark, a turn of the event loop for each. Throws `Unreadable`
 * beyond the limit and the signal's reason once it aborts.
 */
export async function* slices(
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
  signal: AbortSignal | null = null,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of withoutMark(content)) {
    bytes += part.length;
    if (bytes > bytesMax) throw unreadable('', `must be at most ${bytesMax / 1024 / 1024} MiB`);
    for (let from = 0; from < part.length; from += SLICE_BYTES) {
      signal?.throwIfAborted();
      yield part.subarray(from, from + SLICE_BYTES);
      await turn();
    }
  }
}

/** Editors put a byte order mark before UTF-8; no format wants it. It may come in three parts. */
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

/** The same bytes. A reader would put U+FFFD in the place of what is no UTF-8, and that would be taken for true. */
export async function* validUtf8(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (part: Uint8Array | undefined, stream: boolean): void => {
    try {
      decoder.decode(part, { stream });
    } catch {
      throw unreadable('', 'is not valid UTF-8');
    }
  };
  for await (const part of content) {
    decode(part, true);
    yield part;
  }
  decode(undefined, false);
}
