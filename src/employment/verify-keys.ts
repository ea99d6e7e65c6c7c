/** Verifies the idempotency keys of changes against the audit records of the changes. */
import { sql } from 'kysely';
import { pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { recordsOfResources } from '../security/verify-recorded.ts';

const ROWS_AT_ONCE = 2_000;

/** A change with the hash of its key, or null if it has none. */
type KeyedChange = { seq: number; request_id: string; key_hash: string | null };

/** Checks that each change has the key with which it was reported. A key of no change breaks a reference. */
export async function verifyKeys(db: Db, on: Verifying): Promise<void> {
  const selected = sql`seq, request_id, (
    select key_hash from change_keys where change_keys.request_id = outbox.request_id) as key_hash`;
  for await (const rows of pagesByKey<KeyedChange>(db, 'outbox', selected, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    const ids = rows.map(({ request_id }) => request_id);
    const records = await recordsOfResources(db, ['change.report'], ids);
    for (const { request_id, key_hash } of rows) {
      const [reported] = records.get(request_id) ?? [];
      if ((reported?.details.key_hash ?? null) !== key_hash)
        on.report('change_keys', request_id, 'key_hash', 'is not as the audit record of the change states');
    }
  }
}
