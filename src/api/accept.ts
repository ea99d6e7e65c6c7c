/** Which content type an answer has, by the Accept header of the request (RFC 9110, 12.5.1). */
import { Refusal } from './problem.ts';

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
