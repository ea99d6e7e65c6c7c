import type { Trx } from '../../database/tables.ts';

/** Locks runs, reports and settings until the transaction ends. Call it before deciding from them. */
export async function changePayroll(trx: Trx): Promise<void> {
  await trx
    .updateTable('payroll_head')
    .set((eb) => ({ revision: eb('revision', '+', 1) }))
    .execute();
}
