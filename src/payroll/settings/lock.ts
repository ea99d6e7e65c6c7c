import type { Db, Trx } from '../../database/tables.ts';

/**
 * A number that rises with everything that payroll changes: a run put, finalized or voided, a report, a schedule. Its
 * one row is the lock by which such changes come one after the other: what is read behind it stays until the end.
 */

export async function payrollChange(db: Db): Promise<number> {
  return (await db.selectFrom('payroll_head').select('change').executeTakeFirstOrThrow()).change;
}

/** Locks it until the transaction ends. Whoever decides from runs, reports or settings calls this first. */
export async function changePayroll(trx: Trx): Promise<void> {
  await trx
    .updateTable('payroll_head')
    .set((eb) => ({ change: eb('change', '+', 1) }))
    .execute();
}
