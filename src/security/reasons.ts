/** Erases a reason that a person typed, from its audit record and from each table that repeats it. */
import { sql } from 'kysely';
import type { AuditRecordTable, Tables, Trx } from '../database/tables.ts';
import { type Acting, type Action, record } from './audit.ts';

/** Stands for a reason in tables that require one. The triggers of append-only tables allow this change only. */
export const ERASED = '[erased]';

/** A column that repeats the reasons of some actions. `by` is the column that identifies the row by a value of the record. */
export type ReasonColumn = {
  readonly table: keyof Tables & string;
  readonly column: string;
  readonly actions: readonly Action[];
  readonly by: { readonly column: string; readonly is: 'record_id' | 'resource_id' | 'recorded_at' };
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
  for (const column of columns) {
    if (column.actions.some((action) => action === erased.action)) await eraseIn(trx, column, erased);
  }
  await trx
    .updateTable('audit_records')
    .set({ reason: null, reason_key: null })
    .where('record_id', '=', recordId)
    .execute();
  await record(trx, acting, {
    action: 'reason.erase',
    resource: String(recordId),
    employer: erased.employer_id,
    employee: erased.employee_id,
    details: { action: erased.action },
    reason,
  });
  return 'erased';
}

function eraseIn(trx: Trx, { table, column, by }: ReasonColumn, erased: AuditRecordTable) {
  return sql`
    update ${sql.table(table)} set ${sql.ref(column)} = ${ERASED}
    where ${sql.ref(by.column)} = ${erased[by.is]} and ${sql.ref(column)} = ${erased.reason}`.execute(trx);
}
