/** The stored body of an event or, after retention deletes it, its SHA-256. */
import { createHash } from 'node:crypto';

/** Exactly one of the two is null. */
export type Kept = { body: Buffer | null; body_hash: Buffer | null };

/** Computed on demand, not for each event, because the body is stored anyway. */
export function sha256(body: Buffer): Buffer {
  return createHash('sha256').update(body).digest();
}

/** The prefix of the id of an imported event; the SHA-256 of its body follows. */
export const IMPORTED = 'import_';

/** Returns the id of an imported event: the same row of a file is always the same event. */
export function importId(hash: Buffer): string {
  return `${IMPORTED}${hash.toString('hex')}`;
}

/** Returns whether this is, byte for byte, the first body. */
export function isBodyOf({ body, body_hash }: Kept, other: Buffer): boolean {
  return body === null ? body_hash !== null && sha256(other).equals(body_hash) : body.equals(other);
}

/** Returns a body for people: its text, or why it is absent. */
export function shownBody({ body, body_hash }: Kept): { body: string | null; body_absent: string | null } {
  if (body !== null) return { body: body.toString('utf8'), body_absent: null };
  const body_absent = `Deleted after RETENTION_EVENTS. Its SHA-256 was ${body_hash?.toString('hex')}.`;
  return { body: null, body_absent };
}
