import type { Db, Trx } from '../../database/tables.ts';

/**
 * Returns the number of changes to payroll: runs, reports, schedules, codes and policies. Its one row is also
 * the lock that serializes them: whatever is read after locking it stays the same until the transaction ends.
 */
export async function payrollChange(db: Db): Promise<number> {
  return (await db.selectFrom('payroll_head').select('revision').executeTakeFirstOrThrow()).revision;
}

/** Locks payroll until the transaction ends. Call it before deciding from runs, reports or settings. */
export async function changePayroll(trx: Trx): Promise<void> {
  await trx
    .updateTable('payroll_head')
    .set((eb) => ({ revision: eb('revision', '+', 1) }))
    .execute();
}
