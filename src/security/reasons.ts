/** Erases a reason that a person typed, from its audit record and from each table that repeats it. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { AuditRecordTable, Tables, Trx } from '../database/tables.ts';
import { type Acting, type Action, recordAll } from './audit.ts';
import { lockHead } from './audit-chain.ts';

/** Stands for a reason in tables that require one. The triggers of append-only tables allow this change only. */
export const ERASED = '[erased]';

/** A column that repeats the reasons of some actions. `by` is the column that identifies the row by a value of the record. */
export type ReasonColumn = {
  readonly table: keyof Tables & string;
  readonly column: string;
  readonly actions: readonly Action[];
  readonly by: { readonly column: string; readonly is: 'record_id' | 'resource_id' | 'recorded_at' };
  /** The rows whose text is a reason of these actions; all by default. */
  readonly onlyIf?: RawBuilder<SqlBool>;
  /** Takes the lock of transactions that copy the reason to further rows. */
  readonly lock?: (trx: Trx) => Promise<void>;
};

export type Erased = 'erased' | 'unknown' | 'no-reason';

/** Erases the reason of a record. The erasure is recorded with its own reason. The hash of the erased reason stays in the chain. */
export async function eraseReason(
  trx: Trx,
  recordId: number,
  { reason, ...acting }: Acting & { reason: string },
  columns: readonly ReasonColumn[],
): Promise<Erased> {
  const erased = await trx
    .selectFrom('audit_records')
    .selectAll()
    .where('record_id', '=', recordId)
    .executeTakeFirst();
  if (erased === undefined) return 'unknown';
  if (erased.reason === null) return 'no-reason';
  const { action, employee_id: employee } = erased;
  // Before the lock of the chain: others lock these rows, then the chain.
  const repeating = columns.filter(({ actions }) => actions.some((repeated) => repeated === action));
  for (const lock of new Set(repeating.flatMap((column) => column.lock ?? []))) await lock(trx);
  for (const column of repeating) await eraseIn(trx, column, erased);
  await lockHead(trx);
  const records = await recordsOfAction(trx, erased);
  // Another erasure was first.
  if (records.length === 0) return 'no-reason';
  await recordAll(
    trx,
    records.map(({ record_id, employer_id: employer }) => ({
      ...{ ...acting, action: 'reason.erase', resource: String(record_id), employer, employee },
      ...{ details: { action }, reason },
    })),
  );
  const ids = records.map(({ record_id }) => record_id);
  await trx
    .updateTable('audit_records')
    .set({ reason: null, reason_key: null })
    .where('record_id', 'in', ids)
    .execute();
  return 'erased';
}

/** Returns the record, and the records that its action left for other employers of the employee, while they have the reason. */
function recordsOfAction(trx: Trx, erased: AuditRecordTable) {
  const { record_id, resource_type, resource_id, action, recorded_at, employee_id, reason } = erased;
  const same =
    employee_id === null
      ? { record_id, reason }
      : { resource_type, resource_id, action, recorded_at, employee_id, reason };
  return trx
    .selectFrom('audit_records')
    .select(['record_id', 'employer_id'])
    .where((where) => where.and(same))
    .orderBy('record_id')
    .execute();
}

function eraseIn(trx: Trx, { table, column, by }: ReasonColumn, erased: AuditRecordTable) {
  return sql`
    update ${sql.table(table)} set ${sql.ref(column)} = ${ERASED}
    where ${sql.ref(by.column)} = ${erased[by.is]} and ${sql.ref(column)} = ${erased.reason}`.execute(trx);
}
