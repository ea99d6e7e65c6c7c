import { forUpdate } from '../../database/engine.ts';
import type { Db, Trx } from '../../database/tables.ts';

/**
 * A number that rises with everything that payroll changes: a run put or finalized, a report, a schedule. Who computes
 * for seconds and then writes can see that nothing of it came in between.
 */

export async function payrollChange(db: Db): Promise<number> {
  return (await db.selectFrom('payroll_head').select('change').executeTakeFirstOrThrow()).change;
}

/** Locks it until the transaction ends, and answers the number before this change. */
export async function changePayroll(trx: Trx): Promise<number> {
  const head = forUpdate(trx, trx.selectFrom('payroll_head').select('change'));
  const { change } = await head.executeTakeFirstOrThrow();
  await trx
    .updateTable('payroll_head')
    .set({ change: change + 1 })
    .execute();
  return change;
}
