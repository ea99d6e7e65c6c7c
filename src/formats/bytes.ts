import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, type Problem } from '../errors.ts';

/** The most bytes of one element or record, because it is held in memory. Real ones have less than a thousand. */
export const ELEMENT_BYTES_MAX = 1024 * 1024;
export const TOO_LARGE = `must be at most ${ELEMENT_BYTES_MAX / 1024 / 1024} MiB`;

/** How to make a CSV that can be read. */
export const SAVE_AS = 'save it as "CSV UTF-8 (Comma delimited)"';

/** Returns the error of content whose rest cannot be read. */
export function unreadable(path: string, rule: string): AppError<'UNREADABLE'> {
  return unreadableFor([{ path, rule }]);
}

export function unreadableFor(problems: readonly Problem[]): AppError<'UNREADABLE'> {
  return new AppError('UNREADABLE', problems.map(({ rule }) => rule).join('; '), { problems });
}

/** Bytes per tick of the event loop: a few milliseconds, also if they are thousands of tiny rows. */
const SLICE_BYTES = 16 * 1024;

export const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** What JSON allows between tokens. */
export const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

export function isBlank(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at += 1) if (!SPACES.has(bytes[at] as number)) return false;
  return true;
}

/** Returns the encoding that a mark or the zeros of letters show; else null. */
export function utf16Of(head: Buffer): 'utf-16le' | 'utf-16be' | null {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head[0] !== 0 && head[1] === 0) return 'utf-16le';
  return head[0] === 0 && head[1] !== 0 && head.length > 1 ? 'utf-16be' : null;
}

/** Yields the bytes without a byte order mark, a slice per tick. Throws UNREADABLE above the limit. */
export async function* slices(
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
  signal: AbortSignal | null = null,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  // Some editors write a mark, which no format allows. It may arrive in three parts.
  const isWhole = (head: Buffer) => head.length >= BYTE_ORDER_MARK.length;
  const withoutMark = (head: Buffer) => head.subarray(head.indexOf(BYTE_ORDER_MARK) === 0 ? 3 : 0);
  for await (const part of withHead(content, isWhole, withoutMark)) {
    bytes += part.length;
    if (bytes > bytesMax) throw unreadable('', `must be at most ${bytesMax / 1024 / 1024} MiB`);
    for (let from = 0; from < part.length; from += SLICE_BYTES) {
      signal?.throwIfAborted();
      yield part.subarray(from, from + SLICE_BYTES);
      await nextTurn();
    }
  }
}

/** Holds the first bytes back until they are whole, yields what `convert` returns for them, then all later bytes unchanged. */
export async function* withHead(
  content: AsyncIterable<Uint8Array>,
  isWhole: (head: Buffer) => boolean,
  convert: (head: Buffer) => Buffer,
): AsyncGenerator<Uint8Array> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const part of content) {
    if (head === null) {
      yield part;
      continue;
    }
    head = Buffer.concat([head, part]);
    if (!isWhole(head)) continue;
    yield convert(head);
    head = null;
  }
  if (head !== null) yield convert(head);
}

/** Yields the same bytes. Throws UNREADABLE for invalid UTF-8, which becomes U+FFFD elsewhere. `then` is what to do. */
export async function* validUtf8(content: AsyncIterable<Uint8Array>, then = ''): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  let before = Buffer.alloc(0);
  const decode = (part: Uint8Array | undefined, stream: boolean): void => {
    try {
      decoder.decode(part, { stream });
    } catch {
      const wrong = line + linesBeforeInvalid(Buffer.concat([before, part ?? before.subarray(0, 0)]));
      throw unreadable('', `must be valid UTF-8, and is not at line ${wrong}${then}`);
    }
  };
  for await (const part of content) {
    decode(part, true);
    // The part may end within a character.
    const end = Buffer.concat([before, part.subarray(-CHARACTER_BYTES_MAX)]).subarray(-CHARACTER_BYTES_MAX);
    line += linesIn(before) + linesIn(part) - linesIn(end);
    before = end;
    yield part;
  }
  decode(undefined, false);
}

const CHARACTER_BYTES_MAX = 4;

function linesIn(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) lines += 1;
  return lines;
}

/** Counts the line feeds before the first byte that is not UTF-8. The first bytes may be the rest of a character. */
function linesBeforeInvalid(bytes: Buffer): number {
  const start = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  const [valid = ''] = new TextDecoder().decode(bytes.subarray(start)).split('\uFFFD', 1);
  return linesIn(Buffer.from(valid));
}
