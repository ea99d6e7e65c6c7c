/** Whether syncs fit the event that asked for them and the upload that is owed. */
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';

/** Syncs read at once. */
const ROWS_AT_ONCE = 2_000;

/** All syncs. A page is one statement, and so sees one moment. */
export async function verifySyncs(db: Db, on: Verifying): Promise<void> {
  const page = (after: string) => pageOf(db, after);
  for await (const rows of pagesOf(on, '', ROWS_AT_ONCE, page, (row) => row.sync_id)) {
    for (const row of rows) {
      const wrong = (field: string, rule: string) =>
        on.tell({ table: 'census_syncs', id: row.sync_id, field, rule });
      if (row.event_id !== null && row.seq === null) wrong('event_id', 'there is no such event');
      if (row.request_id !== null && row.kind !== 'census') wrong('request_id', 'there is no such upload');
      if (row.reprocessed === 0 && row.finished_at !== null && row.requested_at !== row.finished_at) {
        wrong('requested_at', 'is not when its event was applied');
      }
    }
  }
}

function pageOf(db: Db, after: string) {
  return db
    .selectFrom('census_syncs')
    .leftJoin('inbox', 'inbox.event_id', 'census_syncs.event_id')
    .leftJoin('outbox', 'outbox.request_id', 'census_syncs.request_id')
    .select(['sync_id', 'census_syncs.event_id', 'census_syncs.request_id', 'requested_at'])
    .select(['inbox.seq', 'inbox.finished_at', 'inbox.reprocessed', 'outbox.kind'])
    .where('sync_id', '>', after)
    .orderBy('sync_id')
    .limit(ROWS_AT_ONCE)
    .execute();
}
