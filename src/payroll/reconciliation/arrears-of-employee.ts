import type { Static } from 'typebox';
import { component, text } from '../../contract/fields.ts';
import { isOneOf } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import { frozenLinesOf } from '../compute/adjustments.ts';
import { arrearsLines } from '../compute/true-up.ts';
import { owedByLatest, reportedLines } from '../facts/owed.ts';
import { frozenLines, runsOfEmployee } from '../records/frozen-lines.ts';
import { codeFinder } from '../settings/codes.ts';

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

/** Only the amounts are shown, no codes. */
const CARRIER = { codesOf: codeFinder([]), named: null };

/** Returns an employee's arrears of all years, by employer and pay date. A run's arrears lines cover two years. */
export async function arrearsOfEmployee(
  db: Db,
  employeeId: string,
  employers: readonly string[],
): Promise<Static<typeof Arrears>[]> {
  if (employers.length === 0) return [];
  const runs = await runsOfEmployee(db, employeeId, employers);
  if (runs.length === 0) return [];
  const ids = runs.map(({ freezeId }) => freezeId);
  const lines = (await frozenLines(db, ids, [employeeId])).get(employeeId) ?? [];
  const frozen = frozenLinesOf(lines, new Set());
  const reported = await reportedLines(db)
    .where(
      isOneOf(
        db,
        'taken_lines.run_id',
        runs.map(({ runId }) => runId),
      ),
    )
    .where('employee_id', '=', employeeId)
    .execute();
  const owed = owedByLatest(reported);
  return [...Map.groupBy(runs, (run) => run.employer_id)].flatMap(([employer_id, own]) =>
    arrearsLines(own, owed, frozen, CARRIER).map((line) => ({
      id: `${line.adjustment_for}:${line.deduction_id}`,
      employer_id,
      run_id: line.adjustment_for as string,
      deduction_id: line.deduction_id,
      line_of_coverage: line.line_of_coverage,
      amount: line.member_amount,
      explanation: line.explanation,
    })),
  );
}
