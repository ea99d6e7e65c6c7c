/** The stored body of an event or, after retention deletes it, its SHA-256. */
import { createHash } from 'node:crypto';

/** Exactly one of the two is null. */
export type Kept = { body: Buffer | null; body_hash: Buffer | null };

/** Computed on demand, not for each event, because the body is stored anyway. */
export function sha256(body: Buffer): Buffer {
  return createHash('sha256').update(body).digest();
}

/** How the id of an imported event begins; what follows is the SHA-256 of its body. */
export const IMPORTED = 'import_';

/** An imported event is named by its body: the same row of a file is the same event, however often it comes. */
export function importId(hash: Buffer): string {
  return `${IMPORTED}${hash.toString('hex')}`;
}

/** Whether this is, byte for byte, the body that came first. */
export function isBodyOf({ body, body_hash }: Kept, other: Buffer): boolean {
  return body === null ? body_hash !== null && sha256(other).equals(body_hash) : body.equals(other);
}

/** A body for people: its text, or why there is none any more. */
export function shownBody({ body, body_hash }: Kept): { body: string | null; body_absent: string | null } {
  if (body !== null) return { body: body.toString('utf8'), body_absent: null };
  const body_absent = `dropped when it was older than RETENTION_EVENTS; its SHA-256 was ${body_hash?.toString('hex')}`;
  return { body: null, body_absent };
}
