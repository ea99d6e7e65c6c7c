import { sql } from 'kysely';
import { pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { AuditRecordTable, Db } from '../database/tables.ts';
import { ACTIONS, resourceTypeOf } from './audit.ts';
import { type Head, hashAfter, isReasonHash, parseHead, readHead } from './audit-chain.ts';
import { readDetails } from './audit-list.ts';

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

type Continuation = 'continues' | 'restored from an older state' | 'altered';

/**
 * Compares the chain with a head that was kept outside the database. `continues`: the record of the head is unchanged.
 * `restored from an older state`: the database was restored from a backup that is older than the head, or it ends before
 * the head. Otherwise `altered`. The chain itself must have been verified.
 */
export async function compareHead(db: Db, kept: Head): Promise<Continuation> {
  if (kept.record_id === 0) return 'continues';
  const head = await readHead(db);
  if (kept.record_id > head.record_id) return 'restored from an older state';
  const { hash } = await db
    .selectFrom('audit_records')
    .select('hash')
    .where('record_id', '=', kept.record_id)
    .executeTakeFirstOrThrow();
  if (hash === kept.hash) return 'continues';
  const restores = await db
    .selectFrom('audit_records')
    .select('details')
    .where('resource_type', '=', 'database')
    .where('action', '=', 'database.restore')
    .execute();
  const isNewer = restores.some(({ details }) => {
    const text = readDetails(details)?.backup_head;
    const backup = typeof text === 'string' ? parseHead(text) : null;
    return backup !== null && backup.record_id < kept.record_id;
  });
  return isNewer ? 'restored from an older state' : 'altered';
}
