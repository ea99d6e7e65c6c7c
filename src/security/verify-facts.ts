/** Verifies recorded facts against their audit records. */
import { sql } from 'kysely';
import { type AnyRow, isOneOf, pagesByKey, piecesOf } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import { KEYS } from '../database/keys.ts';
import type { Db } from '../database/tables.ts';
import { resourceTypeOf } from './audit.ts';
import { type AnyFact, contentHash, subjectOf } from './facts.ts';
import {
  type Recorded,
  type RecordOfAction,
  recordsOf,
  recordsOfResources,
  recordsWithoutRow,
} from './verify-recorded.ts';

const ROWS_AT_ONCE = 500;
const NO_ROW = 'has an audit record and no row';

export type FactRow = AnyRow & { record_id: number };

/** Checks that the rows are as their audit records state, and that each audit record has its rows. */
export async function verifyFact(db: Db, fact: AnyFact, on: Verifying): Promise<void> {
  const { table, actions, removedBy } = fact;
  /** Rows with one audit record, which may continue on the next page. */
  let group: FactRow[] = [];
  for await (const rows of pagesByKey<FactRow>(db, table, sql`*`, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    const records = await recordsOf(db, [...group.slice(0, 1), ...rows]);
    for (const row of rows) {
      if (group[0] !== undefined && group[0].record_id !== row.record_id) {
        verifyGroup(fact, group, records, on);
        group = [];
      }
      group.push(row);
    }
  }
  verifyGroup(fact, group, await recordsOf(db, group.slice(0, 1)), on);
  if (removedBy !== undefined) return verifyLast(db, fact, on);
  for (const recordId of await recordsWithoutRow(db, table, actions))
    on.report(table, recordId, 'record_id', NO_ROW);
}

/** Checks rows with one audit record. */
export function verifyGroup(
  fact: AnyFact,
  rows: readonly FactRow[],
  records: ReadonlyMap<number, Recorded>,
  { report }: Pick<Verifying, 'report'>,
): void {
  const [first] = rows;
  if (first === undefined) return;
  const { table, actions } = fact;
  const recorded = records.get(first.record_id);
  if (recorded === undefined || !actions.some((action) => action === recorded.action))
    report(table, idOf(fact, first), 'record_id', 'is not the audit record of the row');
  else if (
    recorded.details.content_hash !== contentHash(rows, fact) ||
    !isOf(recorded, subjectOf(fact, rows))
  )
    report(table, idOf(fact, first), 'record_id', 'is the audit record of other values');
}

function isOf(recorded: Recorded, subject: Partial<Recorded>): boolean {
  return Object.entries(subject).every(([name, value]) => recorded[name as keyof Recorded] === value);
}

function idOf({ table }: AnyFact, row: AnyRow): string {
  return KEYS[table].map((column) => row[column]).join('/');
}

/** Checks that a fact whose rows may be removed has the rows of the last audit records of their keys, and no others. */
async function verifyLast(db: Db, fact: AnyFact, on: Verifying): Promise<void> {
  const resources = db
    .selectFrom('audit_records')
    .select('resource_id')
    .distinct()
    .where('resource_type', '=', resourceTypeOf(fact.actions[0]))
    .where('action', 'in', fact.actions);
  const ids = (await resources.execute()).flatMap(({ resource_id }) => resource_id ?? []);
  for (const page of piecesOf(ids, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    const differences = await differencesOfLast(db, fact, page);
    // A row that is inserted between two reads differs only once.
    const again = differences.size === 0 ? differences : await differencesOfLast(db, fact, page);
    for (const [recordId, rule] of differences)
      if (again.has(recordId)) on.report(fact.table, recordId, 'record_id', rule);
  }
}

/** Returns the audit records of resources whose rows are missing, and those that should have none. */
async function differencesOfLast(
  db: Db,
  fact: AnyFact,
  resources: readonly string[],
): Promise<Map<number, string>> {
  const { table, actions, subject, removedBy } = fact;
  const records = await recordsOfResources(db, [...actions, ...Object.values(removedBy ?? {})], resources);
  const expected = new Set([...records.values()].flatMap((ofResource) => lastOf(fact, ofResource)));
  const { rows } = await sql<FactRow>`
    select record_id from ${sql.table(table)} where ${isOneOf(db, subject.resource as string, resources)}`.execute(
    db,
  );
  const stored = new Set(rows.map(({ record_id }) => record_id));
  const missing = [...expected].filter((recordId) => !stored.has(recordId));
  const restored = [...stored].filter((recordId) => !expected.has(recordId));
  return new Map([
    ...missing.map((recordId) => [recordId, NO_ROW] as const),
    ...restored.map((recordId) => [recordId, 'is not the last audit record of the row'] as const),
  ]);
}

/** Returns the ids of the records whose rows a resource still has. */
function lastOf({ table, subject, removedBy }: AnyFact, records: readonly RecordOfAction[]): number[] {
  const last = new Map<string, number>();
  const names = new Map(Object.entries(subject).map(([name, column]) => [column, name]));
  for (const record of records) {
    const stated = { ...record.details, ...record };
    const keyText = JSON.stringify(
      KEYS[table].map((column) => (stated as AnyRow)[names.get(column) ?? column]),
    );
    if (record.action === removedBy?.all) last.clear();
    else if (record.action === removedBy?.row) last.delete(keyText);
    else last.set(keyText, record.record_id);
  }
  return [...last.values()];
}
