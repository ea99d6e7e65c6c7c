/** Recorded facts: rows that are inserted with one audit record, which has the hash of their content. */
import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { type AnyRow, insertRows, pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { type Acting, type Action, forEmployers, type NewRecord, recordAll } from './audit.ts';
import { ERASED, type ReasonColumn } from './reasons.ts';
import { type Recorded, recordsOf, recordsWithoutRow } from './verify-recorded.ts';

type OfTable<T extends keyof Tables> = Tables[T] extends { record_id: number } ? T : never;

/** The tables whose rows have the audit record that inserted them. */
export type FactTable = Exclude<
  { [T in keyof Tables]: OfTable<T> }[keyof Tables],
  // Accepted findings repeat the records of earlier actions.
  'audit_records' | 'audit_head' | 'accepted_findings'
>;

/** What the audit record of rows names. */
type Subject<Column> = { readonly [name in 'resource' | 'employer' | 'employee']?: Column };

export type AnyFact = {
  readonly table: FactTable;
  /** Rows with one audit record follow each other in this order. */
  readonly key: readonly string[];
  /** The actions that insert rows. */
  readonly actions: readonly [Action, ...Action[]];
  /** The columns with what the audit record is of: it names what all of its rows have in common. */
  readonly subject: Subject<string>;
  /** The rows repeat the reason of their audit record. */
  readonly hasReason?: true;
  /** A column that changes later. */
  readonly changing?: string;
  /** Whether a later action may remove rows. */
  readonly isRemovable?: true;
};

type ColumnOf<T extends FactTable> = keyof Tables[T] & string;

export type Fact<T extends FactTable> = AnyFact & {
  readonly table: T;
  readonly key: readonly ColumnOf<T>[];
  readonly subject: Subject<ColumnOf<T>>;
  readonly changing?: ColumnOf<T>;
};

/** A row as a caller states it. */
export type FactContent<T extends FactTable> = Omit<Tables[T], 'record_id' | 'reason'>;

/** `employers`: the employers that get a record each. `employer`, `employee`: if no column has them. */
type Recording = Pick<NewRecord, 'employer' | 'employee' | 'details' | 'reason'> & {
  action?: Action;
  employers?: readonly string[];
};

/** Inserts rows with their audit record, and returns them. Call it after the other locks of the transaction. */
export async function insertFacts<T extends FactTable>(
  trx: Trx,
  fact: Fact<T>,
  contents: readonly FactContent<T>[],
  acting: Acting,
  { action = fact.actions[0], employers = [], details, reason = null, ...subject }: Recording = {},
): Promise<Tables[T][]> {
  const record = {
    ...{ ...acting, action, ...subjectOf(fact, contents), ...subject, reason },
    details: { ...details, content_hash: contentHash(fact, contents) },
  };
  const [record_id] = await recordAll(trx, forEmployers(record, employers));
  const added = fact.hasReason ? { reason, record_id } : { record_id };
  const rows = contents.map((content) => ({ ...content, ...added })) as unknown as Tables[T][];
  await insertRows(trx, fact.table, rows);
  return rows;
}

/** Returns what the audit record of rows names: what they have in common. */
function subjectOf({ subject }: AnyFact, rows: readonly AnyRow[]): { resource: string | null } {
  const common = (column: string) => {
    const values = new Set(rows.map((row) => row[column]));
    return values.size === 1 ? [...values][0] : null;
  };
  const named = Object.entries(subject).map(([name, column]) => [name, common(column)]);
  return Object.fromEntries(named);
}

/**
 * Returns the SHA-256 of the content of rows, for the details of their audit record. A null is no content, so a new column does
 * not change the hash of older rows.
 */
function contentHash({ changing }: AnyFact, rows: readonly object[]): string {
  const isContent = ([column, value]: [string, unknown]) =>
    value !== null && column !== 'record_id' && column !== 'reason' && column !== changing;
  const contents = rows.map((row) =>
    Object.entries(row)
      .filter(isContent)
      .sort(([column], [other]) => (column < other ? -1 : 1))
      .map(([column, value]) => [column, storedValue(value)]),
  );
  return hash('sha256', JSON.stringify(contents));
}

/** A database stores other characters in place of lone surrogates. */
function storedValue(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

/** Returns the number of an employer's last row, 0 without one. The key of the fact is an employer and a number. */
export async function lastNumber(db: Db | Trx, { table, key }: AnyFact, employerId: string): Promise<number> {
  const [employer, number] = key as readonly [string, string];
  const { rows } = await sql<{ last: number | null }>`
    select max(${sql.ref(number)}) as last from ${sql.table(table)}
    where ${sql.ref(employer)} = ${employerId}`.execute(db);
  return Number(rows[0]?.last ?? 0);
}

/** Returns the column that repeats the reasons of a fact's audit records; none for a fact without reasons. */
export function reasonColumnsOf({ table, actions, hasReason }: AnyFact): ReasonColumn[] {
  if (!hasReason) return [];
  return [{ table, column: 'reason', actions, by: { column: 'record_id', is: 'record_id' } }];
}

const ROWS_AT_ONCE = 500;
/** Rows with a wrong reason that are named. */
const NAMED = 1_000;

type FactRow = AnyRow & { record_id: number };

/** Checks that the rows are as their audit records state, and that each audit record has its rows. */
export async function verifyFact(db: Db, fact: AnyFact, on: Verifying): Promise<void> {
  const { table, key, actions, hasReason, isRemovable } = fact;
  /** Rows with one audit record, which may continue on the next page. */
  let group: FactRow[] = [];
  for await (const rows of pagesByKey<FactRow>(db, table, key, sql`*`, ROWS_AT_ONCE)) {
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
  if (hasReason) await verifyReasons(db, fact, on);
  if (isRemovable) return;
  for (const recordId of await recordsWithoutRow(db, table, actions))
    on.report(table, recordId, 'record_id', 'has an audit record and no row');
}

function verifyGroup(
  fact: AnyFact,
  rows: readonly FactRow[],
  records: ReadonlyMap<number, Recorded>,
  { report }: Verifying,
): void {
  const [first] = rows;
  if (first === undefined) return;
  const { table, actions } = fact;
  const recorded = records.get(first.record_id);
  if (recorded === undefined || !actions.some((action) => action === recorded.action))
    report(table, idOf(fact, first), 'record_id', 'is not the audit record of the row');
  else if (recorded.details.content_hash !== contentHash(fact, rows))
    report(table, idOf(fact, first), 'record_id', 'is the audit record of other values');
}

function idOf({ key }: AnyFact, row: AnyRow): string {
  return key.map((column) => row[column]).join('/');
}

/** One statement, because a reason may be erased at any time. */
async function verifyReasons(db: Db, fact: AnyFact, { report }: Verifying): Promise<void> {
  const { rows } = await sql<FactRow>`
    select fact.* from ${sql.table(fact.table)} fact join audit_records made on made.record_id = fact.record_id
    where fact.reason <> coalesce(made.reason, ${ERASED}) order by fact.record_id limit ${sql.lit(NAMED)}`.execute(
    db,
  );
  for (const row of rows) report(fact.table, idOf(fact, row), 'reason', 'is not that of its audit record');
}
