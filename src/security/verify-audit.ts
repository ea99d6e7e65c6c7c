import { sql } from 'kysely';
import { pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { AuditRecordTable, Db } from '../database/tables.ts';
import { ACTIONS, readDetails, resourceTypeOf } from './audit.ts';

const ROWS_AT_ONCE = 2_000;

/** Verifies that audit records are readable and that none is missing. Its actor has no second source. */
export async function verifyAudit(db: Db, on: Verifying): Promise<void> {
  const head = await db.selectFrom('audit_head').select('record_id').executeTakeFirstOrThrow();
  let last = 0;
  for await (const rows of pagesByKey<AuditRecordTable & Record<string, unknown>>(
    db,
    'audit_records',
    ['record_id'],
    sql`*`,
    ROWS_AT_ONCE,
  )) {
    on.signal.throwIfAborted();
    for (const row of rows) {
      // Recorded since the head was read.
      if (row.record_id > head.record_id) break;
      verifyRecord(row, last, on);
      last = row.record_id;
    }
    on.looked(rows.length);
  }
  if (last !== head.record_id) on.report('audit_head', 1, 'record_id', 'is not the id of the last record');
}

function verifyRecord(row: AuditRecordTable, last: number, { report }: Verifying): void {
  const wrong = (field: string, rule: string) => report('audit_records', row.record_id, field, rule);
  if (row.record_id !== last + 1) wrong('record_id', 'is not the next id');
  if (!(ACTIONS as readonly string[]).includes(row.action)) wrong('action', 'is no action');
  if (row.resource_type !== resourceTypeOf(row.action)) wrong('resource_type', 'is not of the action');
  if (readDetails(row.details) === null) wrong('details', 'cannot be read');
}
