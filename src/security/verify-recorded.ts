/** Verifies the rows of a table against the audit records of the actions that inserted them. */
import { sql } from 'kysely';
import { isOneOf, pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { Db, Tables } from '../database/tables.ts';
import { type Action, type Details, resourceTypeOf } from './audit.ts';
import { readDetails } from './audit-list.ts';

const ROWS_AT_ONCE = 500;
/** Records without a row that are named. */
const NAMED = 1_000;

type RecordedTable = 'approval_settings' | 'run_approvals';
/** The contents of a row's audit record. */
export type Recorded = { action: string; resource: string | null; details: Details };

type RowsOfAction<Row> = {
  key: readonly (keyof Row & string)[];
  /** The action that inserts a row. */
  action: Action;
  /** A later action on the same resource that deletes its rows. */
  deletedBy?: Action;
  /** Returns the columns as the audit record states them. */
  columnsOf: (recorded: Recorded, row: Row) => Partial<Record<keyof Row & string, unknown>>;
};

/** Checks that each row is as its audit record states, and that each audit record has its row. */
export async function verifyRecorded<T extends RecordedTable>(
  db: Db,
  table: T,
  { key, action, deletedBy, columnsOf }: RowsOfAction<Tables[T]>,
  on: Verifying,
): Promise<void> {
  for await (const rows of pagesByKey<Tables[T]>(db, table, key, sql`*`, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    const records = await recordsOf(db, rows);
    for (const row of rows) {
      const id = key.map((column) => row[column]).join('/');
      const recorded = records.get(row.record_id);
      if (recorded?.action !== action) {
        on.report(table, id, 'record_id', 'is not the audit record of the row');
        continue;
      }
      for (const [column, value] of Object.entries(columnsOf(recorded, row)))
        if (row[column as keyof Tables[T]] !== value)
          on.report(table, id, column, 'is not as its audit record states');
    }
    on.looked(rows.length);
  }
  for (const recordId of await recordsWithoutRow(db, table, [action], deletedBy))
    on.report(table, recordId, 'record_id', 'has an audit record and no row');
}

/** Returns the audit records of rows, by id. */
export async function recordsOf(
  db: Db,
  rows: readonly { record_id: number }[],
): Promise<Map<number, Recorded>> {
  const ids = rows.map(({ record_id }) => record_id);
  const records = await db
    .selectFrom('audit_records')
    .select(['record_id', 'action', 'resource_id', 'details'])
    .where(isOneOf(db, 'record_id', ids))
    .execute();
  return new Map(
    records.map(({ record_id, action, resource_id, details }) => [
      record_id,
      { action, resource: resource_id, details: readDetails(details) ?? {} },
    ]),
  );
}

/**
 * Returns the ids of audit records of these actions, which have one type of resource, that no row of the table has. A row has
 * the first of the records that its action left for several employers.
 */
export async function recordsWithoutRow(
  db: Db,
  table: keyof Tables & string,
  actions: readonly Action[],
  deletedBy?: Action,
): Promise<number[]> {
  const type = resourceTypeOf(actions[0] as Action);
  // Most tables have no index of their records, so a search for each record would take quadratic time.
  const { rows } = await sql<{ record_id: number }>`
    select record_id from audit_records made
    where resource_type = ${type} and action in (${sql.join(actions)})
      and record_id in (
        select record_id from audit_records where resource_type = ${type}
        except select record_id from ${sql.table(table)})
      and not exists (select 1 from audit_records deleted
        where deleted.resource_type = ${type} and deleted.resource_id = made.resource_id
          and deleted.record_id > made.record_id and deleted.action = ${deletedBy ?? null})
      and not exists (select 1 from audit_records earlier
        where earlier.resource_type = ${type} and earlier.resource_id = made.resource_id
          and earlier.record_id < made.record_id and earlier.action = made.action
          and earlier.recorded_at = made.recorded_at and earlier.details = made.details
          and earlier.employer_id <> made.employer_id)
    order by record_id limit ${sql.lit(NAMED)}`.execute(db);
  return rows.map(({ record_id }) => record_id);
}
