/** Ids of employment changes. */
import { randomUUID } from 'node:crypto';

/** The characters of a UUID of version 4 before its version, and the version itself. */
const REPLACED = 'xxxxxxxx-xxxx-4'.length;

/**
 * Returns a UUID of version 7 (RFC 9562). It starts with the time, so that the index entries of changes that arrive together
 * are next to each other: random ids double the bytes written for a change.
 */
export function changeIdAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${randomUUID().slice(REPLACED)}`;
}
