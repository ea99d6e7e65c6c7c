/** Verifies changes and their idempotency keys against the audit records of the changes. */
import { sql } from 'kysely';
import { pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { recordsOfResources } from '../security/verify-recorded.ts';

const ROWS_AT_ONCE = 2_000;

/** What the audit record of a change states, by the table that stores it. */
const STATED = [
  ['outbox', 'effective_on'],
  ['outbox', 'pay_group'],
  ['change_keys', 'key_hash'],
] as const;

/** A change with the hash of its key, or null if it has none. */
type Change = { seq: number; request_id: string } & Record<(typeof STATED)[number][1], string | null>;

/** Checks that each change is stored as it was reported. A key of no change breaks a reference. */
export async function verifyReported(db: Db, on: Verifying): Promise<void> {
  const selected = sql`seq, request_id, effective_on, pay_group, (
    select key_hash from change_keys where change_keys.request_id = outbox.request_id) as key_hash`;
  for await (const rows of pagesByKey<Change>(db, 'outbox', selected, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    const ids = rows.map(({ request_id }) => request_id);
    const records = await recordsOfResources(db, ['change.report'], ids);
    for (const change of rows) {
      const [reported] = records.get(change.request_id) ?? [];
      for (const [table, column] of STATED)
        if ((reported?.details[column] ?? null) !== change[column])
          on.report(table, change.request_id, column, 'is not as the audit record of the change states');
    }
  }
}
