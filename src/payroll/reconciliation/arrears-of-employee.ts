import type { Static } from 'typebox';
import { component, text } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { amountOf } from '../../money.ts';
import { owedDeductions, uncanceled } from '../compute/arrears.ts';
import { earlierLinesOf } from '../compute/earlier-lines.ts';
import { owedByEmployee } from '../facts/owed.ts';
import { frozenLines, runsOfEmployee } from '../records/frozen-lines.ts';

/** The amount of one deduction that payroll did not take in a finalized run, less what later runs collected. */
export const Arrears = component(
  'Arrears',
  {
    employer_id: text('The employer of the run.'),
    id: text('The ID of the arrears: of the run and the deduction.'),
    run_id: text('The finalized run from which payroll took a different amount.'),
    deduction_id: text('The deduction.'),
    line_of_coverage: text('The line of coverage.'),
    amount: text('The amount still to be deducted. Negative if too much was taken.'),
    explanation: text('How the amount was computed.'),
  },
  'An amount that payroll did not take and no later run has collected.',
);

/** Returns an employee's arrears of all years, by employer and pay date. A run's arrears lines cover two years. */
export async function arrearsOfEmployee(
  db: Db,
  employeeId: string,
  employers: readonly string[],
): Promise<Static<typeof Arrears>[]> {
  if (employers.length === 0) return [];
  const runs = await runsOfEmployee(db, employeeId, employers);
  if (runs.length === 0) return [];
  const freezeIds = runs.map(({ freezeId }) => freezeId);
  const rows = (await frozenLines(db, freezeIds, [employeeId])).get(employeeId) ?? [];
  const earlierLines = earlierLinesOf(rows, new Set());
  const runIds = runs.map(({ runId }) => runId);
  const owed = await owedByEmployee(db, employeeId, runIds);
  return [...Map.groupBy(runs, (run) => run.employer_id)].flatMap(([employer_id, runsOfEmployer]) =>
    uncanceled(owedDeductions(runsOfEmployer, owed, earlierLines, '')).map(
      ({ runId, line: { deduction_id, line_of_coverage }, left, explanation }) => ({
        id: `${runId}:${deduction_id}`,
        employer_id,
        run_id: runId,
        deduction_id,
        line_of_coverage,
        amount: amountOf(left),
        explanation,
      }),
    ),
  );
}
