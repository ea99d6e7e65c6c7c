import { sql } from 'kysely';
import type { Static } from 'typebox';
import { component, text } from '../../contract/fields.ts';
import { isOneOf } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import { storedLines } from '../calculation/line.ts';
import { type FrozenLines, frozenLinesOf } from '../runs/adjustments.ts';
import { arrearsLines, type Owed, owedByLatest } from '../runs/arrears.ts';
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
type Arrears = Static<typeof Arrears>;

type Run = { run_id: string; freeze_id: string; employer_id: string; employee_id: string };

/** Only the amounts are shown, no codes. */
const CARRIER = { codesOf: codeFinder([]), named: null };

/**
 * Returns an employee's arrears over all finalized runs of the employers: by employer, and within each in the order of pay
 * dates. A run's arrears lines cover two years only.
 */
export async function arrearsOfEmployee(
  db: Db,
  employeeId: string,
  employers: readonly string[],
): Promise<Arrears[]> {
  if (employers.length === 0) return [];
  const runs = await runsOf(db, employeeId, employers);
  if (runs.length === 0) return [];
  const owed = await owedIn(db, employeeId, employers);
  return [...Map.groupBy(runs, (run) => run.employer_id)].flatMap(([employer_id, own]) => {
    const earlier = own.map(({ run_id, freeze_id }) => ({ runId: run_id, freezeId: freeze_id }));
    return arrearsLines(earlier, owed, frozenOf(own), CARRIER).map((line) => ({
      id: `${line.adjustment_for}:${line.deduction_id}`,
      employer_id,
      run_id: line.adjustment_for as string,
      deduction_id: line.deduction_id,
      line_of_coverage: line.line_of_coverage,
      amount: line.member_amount,
      explanation: line.explanation,
    }));
  });
}

/** Returns the finalized runs with lines of the employee, and those lines. */
function runsOf(db: Db, employeeId: string, employers: readonly string[]) {
  return db
    .selectFrom('payroll_runs')
    .innerJoin('run_employees', 'run_employees.freeze_id', 'payroll_runs.freeze_id')
    .select(['run_id', 'payroll_runs.employer_id', 'roster_position', 'lines'])
    .select(['run_employees.freeze_id', 'run_employees.employee_id'])
    .where(isOneOf(db, 'payroll_runs.employer_id', employers))
    .where('payroll_runs.state', '=', sql.lit('finalized'))
    .where('run_employees.employee_id', '=', employeeId)
    .orderBy('payroll_runs.employer_id')
    .orderBy('payroll_runs.pay_date')
    .orderBy('run_id')
    .execute();
}

function frozenOf(runs: readonly (Run & { roster_position: number | null; lines: string })[]): FrozenLines {
  return frozenLinesOf(
    runs.map((row) => ({
      freezeId: row.freeze_id,
      isIn: row.roster_position !== null,
      isVoided: false,
      lines: storedLines(row),
    })),
  );
}

/** Returns the lines from which payroll took a different amount, by the latest report of each. */
async function owedIn(db: Db, employeeId: string, employers: readonly string[]): Promise<Owed[]> {
  const rows = await db
    .selectFrom('payroll_runs')
    .innerJoin('taken_lines', 'taken_lines.run_id', 'payroll_runs.run_id')
    .innerJoin('taken_reports', (join) =>
      join
        .onRef('taken_reports.run_id', '=', 'taken_lines.run_id')
        .onRef('taken_reports.report', '=', 'taken_lines.report')
        .on('taken_reports.recorded_at', 'is not', null),
    )
    .select(['taken_lines.run_id', 'employee_id', 'line', 'owed'])
    .where(isOneOf(db, 'payroll_runs.employer_id', employers))
    .where('payroll_runs.state', '=', sql.lit('finalized'))
    .where('taken_lines.employee_id', '=', employeeId)
    .orderBy('line')
    .orderBy('taken_lines.report')
    .execute();
  return owedByLatest(rows).map(({ run_id, line, owed }) => ({ runId: run_id, line, owed }));
}
