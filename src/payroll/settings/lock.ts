import type { Trx } from '../../database/tables.ts';

/**
 * Locks payroll until the transaction ends: runs, reports, schedules, codes and policies. Call it before deciding from
 * them. The one row that it counts up is the lock.
 */
export async function changePayroll(trx: Trx): Promise<void> {
  await trx
    .updateTable('payroll_head')
    .set((eb) => ({ revision: eb('revision', '+', 1) }))
    .execute();
}
