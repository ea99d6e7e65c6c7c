/** The amounts that payroll did not take, by the recorded reports of amounts taken. */
import { isOneOf } from '../../database/bulk.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { type Cents, centsOf } from '../../money.ts';
import { yearBefore, yearOf } from '../calculation/pay-dates.ts';
import type { Run } from '../records/body.ts';
import type { Input } from '../records/inputs.ts';
import { finalRuns } from '../records/runs.ts';
import { freezesTakingItems } from '../records/settlements.ts';

/**
 * The amount that payroll did not take of a line (`lineKey`) of a run, by the latest report that names the line. Negative if
 * it took too much.
 */
export type Owed = { runId: string; line: string; owed: Cents; report: number; reportedAt: string };

/**
 * Returns the finalized and voided runs of a run's calendar year and the year before, which may have any open items, and
 * runs of other years with a report of amounts taken or that took an item: arrears stay open for years, and what was
 * taken for a voided run must be returned.
 */
export async function earlierRuns(
  db: Db | Trx,
  run: Pick<Run, 'employer_id' | 'pay_date'>,
  runId: string | null,
): Promise<Input[]> {
  const year = yearOf(run.pay_date);
  const recent = [year, yearBefore(year)];
  const runs = await finalRuns(db, run.employer_id, runId);
  const ids = runs.map(({ run_id }) => run_id);
  const reports = await latestReports(db, ids);
  const isRecent = ({ pay_date }: (typeof runs)[number]) => recent.includes(yearOf(pay_date));
  const older = runs.filter((final) => !isRecent(final)).map(({ freeze_id }) => freeze_id as string);
  const taking = await freezesTakingItems(db, older);
  return runs
    .filter((final) => isRecent(final) || reports.has(final.run_id) || taking.has(final.freeze_id as string))
    .map(({ run_id, state }) => ({
      run_id,
      report: reports.get(run_id) ?? null,
      is_voided: state === 'voided',
    }));
}

async function latestReports(db: Db | Trx, runIds: readonly string[]): Promise<Map<string, number>> {
  if (runIds.length === 0) return new Map();
  const reports = await db
    .selectFrom('taken_reports')
    .select('run_id')
    .select((eb) => eb.fn.max('report').as('latest'))
    .where(isOneOf(db, 'run_id', runIds))
    .where('recorded_at', 'is not', null)
    .groupBy('run_id')
    .execute();
  return new Map(reports.map(({ run_id, latest }) => [run_id, latest]));
}

/** Returns what payroll did not take of each line that a report on earlier runs names, by employee. */
export async function owedBy(
  db: Db | Trx,
  earlier: readonly Input[],
  employees: readonly string[],
): Promise<Map<string, Owed[]>> {
  const latest = new Map(
    earlier.flatMap(({ run_id, report }) => (report === null ? [] : [[run_id, report]])),
  );
  if (latest.size === 0) return new Map();
  const rows = await reportedLines(db)
    .where(isOneOf(db, 'taken_lines.run_id', [...latest.keys()]))
    .where(isOneOf(db, 'employee_id', employees))
    .execute();
  const known = rows.filter(({ run_id, report }) => report <= (latest.get(run_id) ?? 0));
  const byEmployee = Map.groupBy(known, ({ employee_id }) => employee_id);
  return new Map([...byEmployee].map(([employeeId, reported]) => [employeeId, owedByLatest(reported)]));
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
function reportedLines(db: Db | Trx) {
  return recordedLines(db)
    .select(['taken_lines.run_id', 'employee_id', 'line', 'owed', 'taken_lines.report'])
    .select((eb) => eb.ref('taken_reports.recorded_at').$notNull().as('recorded_at'))
    .orderBy('taken_lines.report');
}

type ReportedLine = Awaited<ReturnType<ReturnType<typeof reportedLines>['execute']>>[number];

/** Returns what an employee owes by the latest report that names each line; a report replaces only the lines it names. */
function owedByLatest(rows: readonly ReportedLine[]): Owed[] {
  // A run id has no blank.
  const latest = new Map(rows.map((row) => [`${row.run_id} ${row.line}`, row]));
  return [...latest.values()].map(({ run_id, line, owed, report, recorded_at }) => ({
    runId: run_id,
    line,
    owed: centsOf(owed),
    report,
    reportedAt: recorded_at,
  }));
}
