/** Verifies the rows of a table against the audit records of the actions that inserted or changed them. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { type Action, type Details, readDetails, recordsOfAction, resourceTypeOf } from './audit.ts';
import { ERASED, type ReasonColumn } from './reasons.ts';

/** Records or rows that are named. */
const NAMED = 1_000;

/** The contents of a row's audit record. */
export type Recorded = {
  action: string;
  resource: string | null;
  employer: string | null;
  employee: string | null;
  details: Details;
};

const SUBJECT = ['resource_id as resource', 'employer_id as employer', 'employee_id as employee'] as const;

/** Returns the audit records of rows, by id. */
export async function recordsOf(
  db: Db,
  rows: readonly { record_id: number }[],
): Promise<Map<number, Recorded>> {
  const ids = rows.map(({ record_id }) => record_id);
  const records = await db
    .selectFrom('audit_records')
    .select(['record_id', 'action', 'details', ...SUBJECT])
    .where(isOneOf(db, 'record_id', ids))
    .execute();
  return new Map(
    records.map(({ record_id, ...record }) => [
      record_id,
      { ...record, details: readDetails(record.details) ?? {} },
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
): Promise<number[]> {
  const type = resourceTypeOf(actions[0] as Action);
  // Most tables have no index of their records, so a search for each record would take quadratic time.
  const { rows } = await sql<{ record_id: number }>`
    select record_id from audit_records made
    where resource_type = ${type} and action in (${sql.join(actions)})
      and record_id in (
        select record_id from audit_records where resource_type = ${type}
        except select record_id from ${sql.table(table)})
      and not exists (select 1 from audit_records earlier
        where earlier.resource_type = ${type} and earlier.resource_id = made.resource_id
          and earlier.record_id < made.record_id and earlier.action = made.action
          and earlier.recorded_at = made.recorded_at and earlier.details = made.details
          and earlier.employer_id <> made.employer_id)
    order by record_id limit ${sql.lit(NAMED)}`.execute(db);
  return rows.map(({ record_id }) => record_id);
}

/**
 * Returns the ids of audit records of an action whose resource has no row, unless a later `deletedBy` deleted it. With `at`, the
 * row must have the time of the record in that column.
 */
export async function recordsWithoutResource(
  db: Db,
  action: Action,
  { table, key, at }: { table: keyof Tables & string; key: string; at?: string },
  deletedBy?: Action,
): Promise<number[]> {
  const type = resourceTypeOf(action);
  const { rows } = await sql<{ record_id: number }>`
    select record_id from audit_records made
    where resource_type = ${type} and action = ${action}
      and not exists (select 1 from ${sql.table(table)} stored where stored.${sql.ref(key)} = made.resource_id
        and ${at === undefined ? sql`true` : sql`stored.${sql.ref(at)} = made.recorded_at`})
      and not exists (select 1 from audit_records deleted
        where deleted.resource_type = ${type} and deleted.resource_id = made.resource_id
          and deleted.record_id > made.record_id and deleted.action = ${deletedBy ?? null})
    order by record_id limit ${sql.lit(NAMED)}`.execute(db);
  return rows.map(({ record_id }) => record_id);
}

/**
 * Returns the resources of each employer's last record of an action, of those with a field in their details, that do not have their
 * row, unless a later `endedBy` of the employer ended it. `hasRow` refers to the record as `last`.
 */
export async function lastResourcesWithoutRow(
  db: Db,
  action: Action,
  field: string,
  hasRow: RawBuilder<SqlBool>,
  endedBy: Action,
): Promise<string[]> {
  const { rows } = await sql<{ resource_id: string }>`
    select resource_id from audit_records last
    where not ${hasRow} and not exists (select 1 from audit_records ended
        where ended.employer_id = last.employer_id and ended.action = ${endedBy} and ended.record_id > last.record_id)
      and record_id in (
      select max(record_id) from audit_records
      where resource_type = ${resourceTypeOf(action)} and action = ${action} and details like ${`%"${field}":%`}
      group by employer_id)
    order by record_id limit ${sql.lit(NAMED)}`.execute(db);
  return rows.map(({ resource_id }) => resource_id);
}

/** A record of an action, to compare with the row that the action changed. */
export type RecordOfAction = Recorded & {
  action: Action;
  record_id: number;
  recorded_at: string;
  reason: string | null;
};

/** Returns the records of actions, which have one type of resource, by resource and in order. */
export async function recordsOfResources(
  db: Db | Trx,
  actions: readonly Action[],
  resourceIds: readonly string[],
): Promise<Map<string, RecordOfAction[]>> {
  const rows = await db
    .selectFrom('audit_records')
    .select(['record_id', 'recorded_at', 'action', 'details', 'reason', ...SUBJECT])
    .where('resource_type', '=', resourceTypeOf(actions[0] as Action))
    .where(isOneOf(db, 'resource_id', resourceIds))
    .where('action', 'in', actions)
    .orderBy('record_id')
    .execute();
  const records = rows.map((row) => ({
    ...{ ...row, action: row.action as Action },
    details: readDetails(row.details) ?? {},
  }));
  return Map.groupBy(records, ({ resource }) => resource as string);
}

/** A state of rows that only an action brings about. */
export type StateOfAction = {
  readonly table: keyof Tables & string;
  /** The column with the id of the action's resource. */
  readonly key: string;
  /** The column that shows the state, for the report. */
  readonly field: string;
  readonly is: RawBuilder<SqlBool>;
  readonly action: Action;
  /** The column with the time of the action. */
  readonly at: string;
};

/** Checks that an audit record states the action that brought each row into its state. */
export async function verifyStates(
  db: Db,
  { table, key, field, is, action, at }: StateOfAction,
  on: Verifying,
): Promise<void> {
  on.signal.throwIfAborted();
  const { rows } = await sql<{ id: string }>`
    select changed.${sql.ref(key)} as id from ${sql.table(table)} changed
    where ${is} and not exists (select 1 from audit_records made
      where made.resource_type = ${resourceTypeOf(action)} and made.resource_id = changed.${sql.ref(key)}
        and made.action = ${action} and made.recorded_at = changed.${sql.ref(at)})
    order by 1 limit ${sql.lit(NAMED)}`.execute(db);
  for (const { id } of rows) on.report(table, id, field, `has no audit record of ${action}`);
}

/** Returns the times at which an action was recorded. Its records for several employers have one time. */
export async function timesOfAction(db: Db, action: Action): Promise<string[]> {
  const times = recordsOfAction(db, action).select('recorded_at').distinct();
  const rows = await times.orderBy('recorded_at').execute();
  return rows.map(({ recorded_at }) => recorded_at);
}

/** Checks that a reason in a row is that of an audit record, or that both were erased: in one statement, as that may happen now. */
export async function verifyReasons(
  db: Db,
  { table, column, actions, by, onlyIf = sql`true` }: ReasonColumn,
  on: Verifying,
): Promise<void> {
  on.signal.throwIfAborted();
  const { rows } = await sql<{ id: string | number }>`
    select stored.${sql.ref(by.column)} as id from ${sql.table(table)} stored
    where stored.${sql.ref(column)} is not null and ${onlyIf} and not exists (select 1 from audit_records made
      where made.resource_type = ${resourceTypeOf(actions[0] as Action)} and made.action in (${sql.join(actions)})
        and made.${sql.ref(by.is)} = stored.${sql.ref(by.column)}
        and coalesce(made.reason, ${ERASED}) = stored.${sql.ref(column)})
    order by 1 limit ${sql.lit(NAMED)}`.execute(db);
  for (const { id } of rows) on.report(table, id, column, 'is not the reason of its audit record');
}
