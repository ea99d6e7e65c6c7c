/** What payroll did not take: the amounts that recorded reports of amounts taken name. */
import { isOneOf } from '../../database/bulk.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { NOTHING } from '../calculation/line.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import type { Run } from '../records/body.ts';
import type { Input } from '../records/inputs.ts';
import { finalRuns } from '../records/runs.ts';

export type Owed = { run_id: string; employee_id: string; line: string; owed: string };

/**
 * Returns the finalized and voided runs of a run's calendar year and the year before, whose differences are reported.
 * Amounts that were settled for a voided run must be returned.
 */
export async function earlierRuns(db: Db | Trx, run: Run, runId: string | null): Promise<Input[]> {
  const year = yearOf(run.pay_date);
  const days = { from: `${String(Number(year) - 1).padStart(4, '0')}-01-01`, until: `${year}-12-31` };
  const runs = await finalRuns(db, { employer_id: run.employer_id, ...days, except: runId })
    .select((eb) =>
      eb
        .selectFrom('taken_reports')
        .select((sub) => sub.fn.max('report').as('report'))
        .whereRef('taken_reports.run_id', '=', 'payroll_runs.run_id')
        .where('taken_reports.recorded_at', 'is not', null)
        .as('report'),
    )
    .execute();
  return runs.map(({ run_id, report, state }) => ({ run_id, report, is_voided: state === 'voided' }));
}

/** Returns the lines of earlier runs from which payroll took a different amount, by employee. */
export async function owedBy(
  db: Db | Trx,
  earlier: readonly Input[],
  employees: readonly string[],
): Promise<Map<string, Owed[]>> {
  const owed: Owed[] = [];
  for (const { run_id, report } of earlier) {
    if (report === null) continue;
    const rows = await reportedLines(db)
      .where('taken_lines.run_id', '=', run_id)
      .where('taken_lines.report', '<=', report)
      .where(isOneOf(db, 'employee_id', employees))
      .execute();
    owed.push(...owedByLatest(rows));
  }
  return Map.groupBy(owed, ({ employee_id }) => employee_id);
}

/** Selects the lines that recorded reports of amounts taken name. */
export function recordedLines(db: Db | Trx) {
  return db
    .selectFrom('taken_lines')
    .innerJoin('taken_reports', (join) =>
      join
        .onRef('taken_reports.run_id', '=', 'taken_lines.run_id')
        .onRef('taken_reports.report', '=', 'taken_lines.report')
        .on('taken_reports.recorded_at', 'is not', null),
    );
}

/** Selects the amounts that lines owe, of the oldest report first. */
export function reportedLines(db: Db | Trx) {
  return recordedLines(db)
    .select(['taken_lines.run_id', 'employee_id', 'line', 'owed'])
    .orderBy('line')
    .orderBy('taken_lines.report');
}

/** Returns what is owed by the latest report that names each line; a report replaces only the lines it names. */
export function owedByLatest(rows: readonly Owed[]): Owed[] {
  const latest = new Map(rows.map((row) => [JSON.stringify([row.run_id, row.employee_id, row.line]), row]));
  return [...latest.values()].filter(({ owed }) => owed !== NOTHING);
}
