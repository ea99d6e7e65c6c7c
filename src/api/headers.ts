/** Which content type an answer has, by the Accept header of the request (RFC 9110, 12.5.1). */
import { keyProblem } from '../employment/accept.ts';
import { invalid, Refusal } from './problem.ts';

/** A media range of the header: `text/csv;q=0.8`, `text/*`. */
type Range = { type: string; quality: number; place: number };

/**
 * The offered type that the caller likes best: by its quality, then a type named before one that a `*` covers, then by
 * the caller's order; the first offered one where nothing is said. Throws 406 as a `Refusal` when none will do.
 */
export function negotiated<const T extends string>(header: string | undefined, offered: readonly T[]): T {
  const ranges = rangesOf(header?.trim() || '*/*');
  const liked = offered
    .map((type) => ({ type, range: bestOf(ranges, type) }))
    .filter(({ range }) => range !== undefined && range.quality > 0) as { type: T; range: Range }[];
  const [first] = liked.sort((one, other) => compare(one.range, other.range));
  if (first === undefined) throw new Refusal('not-acceptable', `this route answers ${offered.join(', ')}`);
  return first.type;
}

function rangesOf(header: string): Range[] {
  return header.split(',').map((text, place) => {
    const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length) ?? '1';
    return { type, quality: Number(quality), place };
  });
}

/** The most specific range decides about a type. */
function bestOf(ranges: readonly Range[], type: string): Range | undefined {
  const main = type.slice(0, type.indexOf('/'));
  for (const name of [type, `${main}/*`, '*/*']) {
    const found = ranges.find((range) => range.type === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function compare(one: Range, other: Range): number {
  const stars = (range: Range): number => range.type.split('*').length;
  return other.quality - one.quality || stars(one) - stars(other) || one.place - other.place;
}

/** One ETag, in the quotes that it was sent in or without them, or a weak one as it is. */
const ONE = /^(?:"([^"]+)"|([^",\s]+|W\/"[^"]+"))$/;

/**
 * The ETag that an If-Match header names; null when it names none, or any (`*`). A weak one matches none, as RFC 9110
 * says. Throws 400 as a `Refusal` for more than one.
 */
export function ifMatchOf(header: string | undefined): string | null {
  if (header === undefined || header.trim() === '*') return null;
  const [, quoted, other] = ONE.exec(header.trim()) ?? [];
  const etag = quoted ?? other;
  if (etag === undefined)
    throw invalid([{ path: 'if-match', rule: 'must be the ETag of the run as it was shown' }]);
  return etag;
}

/** Returns the value of an Idempotency-Key header, or null without one. Throws 400 as a `Refusal` if it is not valid. */
export function idempotencyKeyOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  const problem = keyProblem('Idempotency-Key', header);
  if (problem !== null) throw invalid([problem]);
  return header;
}
