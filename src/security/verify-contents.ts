/** Verifies the rows of a table against audit records that have the hash of their content. */
import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { Db, Tables } from '../database/tables.ts';
import type { Action } from './audit.ts';
import { type Recorded, recordsOf, recordsWithoutRow } from './verify-recorded.ts';

const ROWS_AT_ONCE = 500;

type ContentTable =
  | 'deduction_assignments'
  | 'item_decisions'
  | 'opening_items'
  | 'pay_schedules'
  | 'payroll_codes'
  | 'payroll_policies'
  | 'run_overrides'
  | 'tokens';

type ColumnOf<T extends ContentTable> = keyof Tables[T] & string;

/** The content of a table's rows. Rows with one audit record follow each other in the order of `key`. */
export type Content<T extends ContentTable = ContentTable> = {
  readonly table: T;
  readonly key: readonly ColumnOf<T>[];
  /** The columns that change later, such as a reason that is erased. */
  readonly changing: readonly ColumnOf<T>[];
  /** The actions that insert rows. */
  readonly actions: readonly Action[];
  /** Whether a later action may remove rows. */
  readonly isRemovable: boolean;
};

/**
 * Returns the SHA-256 of the content of rows, for the details of their audit record. A null is no content, so a new column does
 * not change the hash of older rows.
 */
export function contentHash<T extends ContentTable>(
  { changing }: Content<T>,
  rows: readonly Partial<Tables[T]>[],
): string {
  const isContent = ([column, value]: [string, unknown]) =>
    value !== null && column !== 'record_id' && !(changing as readonly string[]).includes(column);
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

/** Checks that the rows are as their audit records state, and that each audit record has its rows. */
export async function verifyContents<T extends ContentTable>(
  db: Db,
  content: Content<T>,
  on: Verifying,
): Promise<void> {
  const { table, key, actions, isRemovable } = content;
  /** Rows with one audit record, which may continue on the next page. */
  let group: Tables[T][] = [];
  for await (const rows of pagesByKey<Tables[T] & Record<string, unknown>>(
    db,
    table,
    key,
    sql`*`,
    ROWS_AT_ONCE,
  )) {
    on.signal.throwIfAborted();
    const records = await recordsOf(db, [...group.slice(0, 1), ...rows]);
    for (const row of rows) {
      if (group[0] !== undefined && group[0].record_id !== row.record_id) {
        verifyGroup(content, group, records, on);
        group = [];
      }
      group.push(row);
    }
  }
  verifyGroup(content, group, await recordsOf(db, group.slice(0, 1)), on);
  if (isRemovable) return;
  for (const recordId of await recordsWithoutRow(db, table, actions))
    on.report(table, recordId, 'record_id', 'has an audit record and no row');
}

function verifyGroup<T extends ContentTable>(
  content: Content<T>,
  rows: readonly Tables[T][],
  records: ReadonlyMap<number, Recorded>,
  { report }: Verifying,
): void {
  const [first] = rows;
  if (first === undefined) return;
  const { table, key, actions } = content;
  const recorded = records.get(first.record_id);
  const id = key.map((column) => first[column]).join('/');
  if (recorded === undefined || !(actions as readonly string[]).includes(recorded.action))
    report(table, id, 'record_id', 'is not the audit record of the row');
  else if (recorded.details.content_hash !== contentHash(content, rows))
    report(table, id, 'record_id', 'is the audit record of other values');
}
