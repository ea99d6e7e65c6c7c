import { sql } from 'kysely';
import { pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { AuditRecordTable, Db } from '../database/tables.ts';
import { ACTIONS, readDetails, resourceTypeOf } from './audit.ts';
import { type Head, hashAfter, isReasonHash, readHead } from './audit-chain.ts';

const ROWS_AT_ONCE = 2_000;

/** Verifies the chain of audit records: that each is readable and as it was recorded, and that none is missing. */
export async function verifyAudit(db: Db, on: Verifying): Promise<void> {
  const head = await readHead(db);
  let last: Head = { record_id: 0, hash: '' };
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
      last = row;
    }
    on.looked(rows.length);
  }
  if (last.record_id !== head.record_id)
    on.report('audit_head', 1, 'record_id', 'is not the id of the last record');
  else if (last.hash !== head.hash) on.report('audit_head', 1, 'hash', 'is not the hash of the last record');
}

function verifyRecord(row: AuditRecordTable, last: Head, { report }: Verifying): void {
  const wrong = (field: string, rule: string) => report('audit_records', row.record_id, field, rule);
  if (row.record_id !== last.record_id + 1) wrong('record_id', 'is not the next id');
  if (!(ACTIONS as readonly string[]).includes(row.action)) wrong('action', 'is no action');
  if (row.resource_type !== resourceTypeOf(row.action)) wrong('resource_type', 'is not of the action');
  if (readDetails(row.details) === null) wrong('details', 'cannot be read');
  if (row.hash !== hashAfter(last.hash, row))
    wrong('hash', 'is not the hash of the preceding hash and this record');
  if (row.reason === null || row.reason_key === null || row.reason_hash === null) return;
  if (!isReasonHash(row.reason_hash, row.reason_key, row.reason)) wrong('reason', 'is not what was recorded');
}
