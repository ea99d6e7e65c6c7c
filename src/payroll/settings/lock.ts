import type { Db, Trx } from '../../database/tables.ts';

/** Locks runs, reports and settings until the transaction ends. Call it before deciding from them. */
export async function lockPayroll(trx: Trx): Promise<void> {
  await trx
    .updateTable('payroll_head')
    .set((eb) => ({ revision: eb('revision', '+', 1), negative: eb('negative', '-', 1) }))
    .execute();
}

/** Returns a number that increases with every change of runs, reports and settings. */
export async function readPayrollRevision(db: Db | Trx): Promise<number> {
  const { revision } = await db.selectFrom('payroll_head').select('revision').executeTakeFirstOrThrow();
  return revision;
}
