/** The earlier runs that a final run collected differences of. */
import { insertMany } from '../../database/bulk.ts';
import type { Db, Trx } from '../../database/tables.ts';

const COLUMNS = ['freeze_id', 'earlier_run_id', 'report', 'is_voided'] as const;

/** An earlier run and its latest report of amounts taken. */
export type Input = { run_id: string; report: number | null; is_voided: boolean };

export async function insertInputs(trx: Trx, freezeId: string, inputs: readonly Input[]): Promise<void> {
  const rows = inputs.map(({ run_id, report, is_voided }) => [freezeId, run_id, report, is_voided ? 1 : 0]);
  await insertMany(trx, 'run_inputs', COLUMNS, rows);
}

/** Returns the inputs written under a freeze, by pay date. */
export async function inputsOf(db: Db, freezeId: string): Promise<Input[]> {
  const inputs = await db
    .selectFrom('run_inputs')
    .innerJoin('payroll_runs', 'payroll_runs.run_id', 'run_inputs.earlier_run_id')
    .select(['payroll_runs.run_id', 'report', 'is_voided'])
    .where('run_inputs.freeze_id', '=', freezeId)
    .orderBy('pay_date')
    .orderBy('payroll_runs.run_id')
    .execute();
  return inputs.map((input) => ({ ...input, is_voided: input.is_voided === 1 }));
}
