import { invalid } from './problem.ts';

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
