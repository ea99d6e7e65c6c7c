import type { Db } from '../../src/database/tables.ts';
import { type Acting, SYSTEM } from '../../src/security/audit.ts';

export function acting(now: string | Date): Acting {
  return { actor: SYSTEM, now: typeof now === 'string' ? now : now.toISOString() };
}

/** Acts at a time that does not matter. */
export const ACTING = acting('2026-07-01T00:00:00.000Z');

/** Returns the audit records of reads of personal data, oldest first. */
export function readsOf(db: Db) {
  return db
    .selectFrom('audit_records')
    .selectAll()
    .where('action', 'like', '%.read')
    .orderBy('record_id')
    .execute();
}
