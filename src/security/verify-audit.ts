import { sql } from 'kysely';
import { isOneOf, pagesByKey, piecesOf } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import { tablesOfRecords } from '../database/engine.ts';
import type { AuditRecordTable, Db } from '../database/tables.ts';
import { ACTIONS, readDetails, resourceTypeOf } from './audit.ts';
import { findHead, type Head, hashAfter, isReasonHash, parseHead } from './audit-chain.ts';

const ROWS_AT_ONCE = 2_000;
/** Missing records that are named for each table that refers to them. */
const NAMED = 1_000;

/** The heads in the details of records. A restore and a copy follow their head directly, and a backup follows it later. */
const STATED_HEADS: Readonly<Record<string, { field: string; isDirect: boolean }>> = {
  'database.back-up': { field: 'audit_head', isDirect: false },
  'database.copy': { field: 'from_head', isDirect: true },
  'database.restore': { field: 'backup_head', isDirect: true },
};

/** What the pass over all records collects to compare at its end. */
type Collected = {
  /** Records whose reason is gone. */
  erased: number[];
  /** Heads that records state, with the record. */
  stated: { by: number; head: Head | null }[];
};

/**
 * Verifies the chain of audit records: that each is readable and as it was recorded, and that none is missing. A chain that
 * was recomputed in full is found only by a head that was kept, also in a record, and by the rows that refer to its records.
 */
export async function verifyAudit(db: Db, on: Verifying): Promise<void> {
  const collected: Collected = { erased: [], stated: [] };
  const newest = await newestId(db);
  // Records are made together with the head, so none that existed before it may have a greater id.
  const head = await findHead(db);
  const until = head?.record_id ?? newest;
  if (head === null) on.report('audit_head', 1, 'id', 'is missing: the head was removed');
  if (newest > until)
    on.report(
      'audit_head',
      1,
      'record_id',
      'is before the last record: records were added by hand, or the head was moved back',
    );
  let last: Head = { record_id: 0, hash: '' };
  for await (const rows of pagesByKey<AuditRecordTable & Record<string, unknown>>(
    db,
    'audit_records',
    sql`*`,
    ROWS_AT_ONCE,
  )) {
    on.signal.throwIfAborted();
    for (const row of rows) {
      // Recorded since the head was read.
      if (row.record_id > until) break;
      verifyRecord(row, last, collected, on);
      last = row;
    }
    on.looked(rows.length);
  }
  if (head !== null && last.record_id < head.record_id)
    on.report('audit_head', 1, 'record_id', 'is after the last record: the end of the chain was removed');
  else if (head !== null && last.hash !== head.hash)
    on.report('audit_head', 1, 'hash', 'is not the hash of the last record');
  await verifyErasures(db, collected.erased, on);
  await verifyStatedHeads(db, collected.stated, on);
  await verifyReferences(db, on);
}

async function newestId(db: Db): Promise<number> {
  const newest = db.selectFrom('audit_records').select(({ fn }) => fn.max('record_id').as('record_id'));
  return (await newest.executeTakeFirst())?.record_id ?? 0;
}

function verifyRecord(row: AuditRecordTable, last: Head, collected: Collected, { report }: Verifying): void {
  const wrong = (field: string, rule: string) => report('audit_records', row.record_id, field, rule);
  if (row.record_id !== last.record_id + 1)
    wrong('record_id', 'is not the next id: the records before it were removed');
  if (!(ACTIONS as readonly string[]).includes(row.action)) wrong('action', 'is no action');
  if (row.resource_type !== resourceTypeOf(row.action)) wrong('resource_type', 'is not of the action');
  const details = readDetails(row.details);
  if (details === null) wrong('details', 'cannot be read');
  if (row.hash !== hashAfter(last.hash, row))
    wrong('hash', 'is not the hash of the preceding hash and this record: the record was altered');
  verifyReason(row, collected, wrong);
  const stated = STATED_HEADS[row.action];
  if (stated === undefined || details === null) return;
  const text = details[stated.field];
  const head = typeof text === 'string' ? parseHead(text) : null;
  const isPossible = head !== null && head.record_id < row.record_id;
  const isDirect = isPossible && (!stated.isDirect || head.record_id === last.record_id);
  collected.stated.push({ by: row.record_id, head: isDirect ? head : null });
}

function verifyReason(
  { record_id, reason, reason_key, reason_hash }: AuditRecordTable,
  { erased }: Collected,
  wrong: (field: string, rule: string) => void,
): void {
  if (reason === null) {
    if (reason_hash !== null) erased.push(record_id);
  } else if (reason_key === null || reason_hash === null || !isReasonHash(reason_hash, reason_key, reason))
    wrong('reason', 'is not what was recorded: the reason was altered');
}

/** Checks that a `reason.erase` record follows each record whose reason is gone. */
async function verifyErasures(db: Db, erased: readonly number[], on: Verifying): Promise<void> {
  for (const ids of piecesOf(erased, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    const erasures = await db
      .selectFrom('audit_records')
      .select(['record_id', 'resource_id'])
      .where('resource_type', '=', 'reason')
      .where('action', '=', 'reason.erase')
      .where(isOneOf(db, 'resource_id', ids.map(String)))
      .orderBy('record_id')
      .execute();
    const recorded = new Map(erasures.map(({ record_id, resource_id }) => [Number(resource_id), record_id]));
    for (const id of ids) {
      if ((recorded.get(id) ?? 0) < id)
        on.report('audit_records', id, 'reason', 'was erased, and no later reason.erase record states it');
    }
  }
}

/** Checks that the heads that records state are in the chain. Otherwise the chain was recomputed, or the record is forged. */
async function verifyStatedHeads(db: Db, stated: Collected['stated'], on: Verifying): Promise<void> {
  for (const piece of piecesOf(stated, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    const hashes = await hashesOf(
      db,
      piece.flatMap(({ head }) => head?.record_id ?? []),
    );
    for (const { by, head } of piece) {
      if (head === null || !isInChain(head, hashes)) {
        const rule =
          'name a head that is not in the chain: the chain was recomputed, or this record is forged';
        on.report('audit_records', by, 'details', rule);
      }
    }
  }
}

/** Checks that the records exist to which rows of other tables refer. Otherwise the end of the chain was cut or replaced. */
async function verifyReferences(db: Db, on: Verifying): Promise<void> {
  for (const name of await tablesOfRecords(db)) {
    on.signal.throwIfAborted();
    const { rows } = await sql<{ record_id: number }>`
      select distinct record_id from ${sql.table(name)} referring
      where not exists (
        select 1 from audit_records where audit_records.record_id = referring.record_id)
      order by record_id limit ${sql.lit(NAMED)}`.execute(db);
    for (const { record_id } of rows)
      on.report('audit_records', record_id, 'record_id', `is missing: ${name} refers to it`);
  }
}

/** Returns the hashes of records, by id. */
export async function hashesOf(db: Db, recordIds: readonly number[]): Promise<Map<number, string>> {
  if (recordIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('audit_records')
    .select(['record_id', 'hash'])
    .where(isOneOf(db, 'record_id', recordIds))
    .execute();
  return new Map(rows.map(({ record_id, hash }) => [record_id, hash]));
}

function isInChain({ record_id, hash }: Head, hashes: ReadonlyMap<number, string>): boolean {
  return record_id === 0 || hashes.get(record_id) === hash;
}

export type Continuation = 'continues' | 'restored from an older state' | 'altered';

/** `because` explains a result that is not `continues`. */
export type Compared = { result: Continuation; because: string | null };

/**
 * Compares the chain with a head that was kept outside the database. `continues`: the record of the head is unchanged.
 * `restored from an older state`: a restore from a backup that is older than the head is recorded, or the chain ends before
 * the head. Otherwise `altered`. The chain itself must have been verified: only then is a record of a restore believed.
 */
export async function compareHead(db: Db, kept: Head): Promise<Compared> {
  const [newest, hashes] = [await newestId(db), await hashesOf(db, [kept.record_id])];
  if (isInChain(kept, hashes)) return { result: 'continues', because: null };
  const restore = await restoreBefore(db, kept);
  const result = 'restored from an older state';
  if (restore !== null) return { result, because: `record ${restore} states the restore` };
  if (kept.record_id > newest) {
    const because = `the chain ends at record ${newest}, and no restore is recorded: other tools restored the database, or its end was removed`;
    return { result, because };
  }
  const because = `record ${kept.record_id} is not the record of the head, and no restore explains it`;
  return { result: 'altered', because };
}

/** Returns the newest record of a restore from a backup that is older than a head, or null. */
async function restoreBefore(db: Db, kept: Head): Promise<number | null> {
  const restores = await db
    .selectFrom('audit_records')
    .select(['record_id', 'details'])
    .where('resource_type', '=', 'database')
    .where('action', '=', 'database.restore')
    .orderBy('record_id', 'desc')
    .execute();
  const older = restores.find(({ details }) => {
    const text = readDetails(details)?.backup_head;
    const backup = typeof text === 'string' ? parseHead(text) : null;
    return backup !== null && backup.record_id < kept.record_id;
  });
  return older?.record_id ?? null;
}
