/** Request headers: Accept, If-Match and Idempotency-Key. */
import { keyProblem } from '../employment/accept.ts';
import { invalid, Refusal } from './problem.ts';

/** `text/csv;q=0.8` or `text/*`. */
type Range = { type: string; quality: number; place: number };

/**
 * Returns the offered type that an Accept header prefers (RFC 9110, 12.5.1): by quality, then an exact type before one that
 * `*` covers, then by the header's order; the first offered type without a header. Throws 406 if none is acceptable.
 */
export function negotiated<const T extends string>(header: string | undefined, offered: readonly T[]): T {
  const ranges = rangesOf(header?.trim() || '*/*');
  const liked = offered
    .map((type) => ({ type, range: bestOf(ranges, type) }))
    .filter(({ range }) => range !== undefined && range.quality > 0) as { type: T; range: Range }[];
  const [first] = liked.sort((left, right) => compare(left.range, right.range));
  if (first === undefined)
    throw new Refusal('NOT_ACCEPTABLE', `This operation responds with ${offered.join(' or ')}.`);
  return first.type;
}

function rangesOf(header: string): Range[] {
  return header.split(',').map((text, place) => {
    const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length) ?? '1';
    return { type, quality: Number(quality), place };
  });
}

/** Returns the most specific range that covers a type. */
function bestOf(ranges: readonly Range[], type: string): Range | undefined {
  const main = type.slice(0, type.indexOf('/'));
  const covering = [type, `${main}/*`, '*/*'].map((name) => ranges.find((range) => range.type === name));
  return covering.find((range) => range !== undefined);
}

function compare(left: Range, right: Range): number {
  const stars = (range: Range): number => range.type.split('*').length;
  return right.quality - left.quality || stars(left) - stars(right) || left.place - right.place;
}

/** One ETag, quoted or not. A proxy that compresses makes it weak, or adds the encoding to it. */
const SINGLE_ETAG = /^(?:W\/)?(?:"([!#-~]+)"|([!#-+--~]+))$/;
const ENCODED = /(?:-|;|--)(?:gzip|br|zstd|deflate)$/;

/**
 * Returns the ETag of an If-Match header, as this listener sent it; null without one or for `*`, which names nothing that was reviewed. Throws 400 for several.
 * RFC 9110 lets no weak ETag match, but ours names the content, whatever encoding a proxy gave it.
 */
export function ifMatchOf(header: string | undefined): string | null {
  if (header === undefined || header.trim() === '*') return null;
  const [, quoted, unquoted] = SINGLE_ETAG.exec(header.trim()) ?? [];
  const etag = quoted ?? unquoted;
  if (etag === undefined) throw invalid([{ path: 'if-match', rule: 'must be a single ETag of the run' }]);
  return etag.replace(ENCODED, '');
}

/** Returns the value of an Idempotency-Key header, or null without one. Throws 400 if it is not valid. */
export function idempotencyKeyOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  const problem = keyProblem('Idempotency-Key', header);
  if (problem !== null) throw invalid([problem]);
  return header;
}
