/** What the checks of one run look for: in its computation, beside the employer's other runs, in its own settings. */
import { sql } from 'kysely';
import type { Db } from '../database/tables.ts';
import { type Basis, planOfBasis, scheduleOf } from '../payroll/runs/basis.ts';
import type { Note, Summary } from '../payroll/runs/summary.ts';
import { readSchedules } from '../payroll/settings/schedules.ts';
import { ago, FOUND_AT_MOST, type Found, fail, type Question } from './findings.ts';

/** A run that is computed, and by when it is asked about. */
export type RunQuestion = Question & {
  employerId: string;
  /** Null for a run that is stored nowhere. */
  runId: string | null;
  basis: Basis;
  summary: Summary;
};

/** A payroll is run at least once a month: a census older than that has missed whom the last period brought. */
export const CENSUS_OLD_DAYS = 31;

const DAY_MS = 86_400_000;

/** Finds what the computation noted. */
export function noted(note: Note, result: Found['result']) {
  return async (_: Db, { summary }: RunQuestion): Promise<Found[]> =>
    (summary.notes.get(note) ?? []).map(({ example, employeeId, ids }) => ({
      example,
      result,
      employeeId,
      ids,
    }));
}

/**
 * Finds several elections of one line of coverage: a failure where one is the rule, a warning where several are
 * normal (payroll.md).
 */
export async function overlaps(db: Db, question: RunQuestion): Promise<Found[]> {
  const looks = [noted('overlap', 'fail'), noted('overlap_normal', 'warn')];
  return (await Promise.all(looks.map((look) => look(db, question)))).flat();
}

/** Finds active employees with deductions whom no pay schedule pays. Without any schedule that cannot be known. */
export async function notScheduled(db: Db, question: RunQuestion): Promise<Found[]> {
  const { basis } = question;
  if (basis.run.kind === 'off_cycle') return [];
  return noted('not_scheduled', basis.schedules.length === 0 ? 'warn' : 'fail')(db, question);
}

/** Counts the employees of the run's own frequency and group that `employee_ids` leaves out. */
export async function populationNarrowed(_: Db, { basis, summary }: RunQuestion): Promise<Found[]> {
  const count = summary.notes.get('not_selected')?.length ?? 0;
  if (basis.run.kind === 'off_cycle' || count === 0) return [];
  return [{ example: count === 1 ? '1 employee' : `${count} employees`, result: 'warn', count }];
}

/** A census of the employer that the service took in, and when. */
export async function censusCompleted(db: Db, { now, employerId }: RunQuestion): Promise<Found[]> {
  const newest = await db
    .selectFrom('census_syncs')
    .select('completed_at')
    .where('employer_id', '=', employerId)
    .where('completed_at', 'is not', null)
    .orderBy('completed_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (newest === undefined) return [fail(`${employerId}: never`)];
  const completedAt = newest.completed_at as string;
  if (completedAt >= ago(now, CENSUS_OLD_DAYS * DAY_MS)) return [];
  return [{ example: `${employerId}: last on ${completedAt}`, result: 'warn' }];
}

/** Nobody of the employer's ever had a deduction. */
export async function ledgerEmpty(db: Db, { employerId }: RunQuestion): Promise<Found[]> {
  const one = await db
    .selectFrom('roster')
    .innerJoin('deduction_employees', 'deduction_employees.employee_id', 'roster.employee_id')
    .select('roster.employee_id')
    .where('roster.employer_id', '=', employerId)
    .limit(1)
    .executeTakeFirst();
  return one === undefined ? [fail(employerId)] : [];
}

/** The pay dates that shares are counted in were stepped. */
export async function calendarAssumed(_: Db, { basis }: RunQuestion): Promise<Found[]> {
  const { dates, calendarAssumed: isAssumed } = planOfBasis(basis);
  if (!isAssumed || dates === null) return [];
  const { pay_frequency, pay_date } = basis.run;
  const example = `${dates.length} ${pay_frequency} pay dates, stepped from ${pay_date}`;
  return [{ example, result: 'warn' }];
}

/**
 * Finalized regular runs that pay some of the same days to some of the same people: a run without a pay group is for
 * all groups. An off-cycle run lies in the period of a regular one by its nature.
 */
export async function periodsOverlap(db: Db, { runId, basis: { run } }: RunQuestion): Promise<Found[]> {
  if (run.kind === 'off_cycle') return [];
  const others = await db
    .selectFrom('payroll_runs')
    .select(['run_id', 'period_start', 'period_end'])
    .where('employer_id', '=', run.employer_id)
    .where('state', '=', sql.lit('finalized'))
    .where('kind', '=', sql.lit('regular'))
    .where('pay_frequency', '=', run.pay_frequency)
    .where('period_start', '<=', run.period_end)
    .where('period_end', '>=', run.period_start)
    .where('run_id', '<>', runId ?? '')
    .$if(run.pay_group !== null, (query) =>
      query.where((where) =>
        where.or([where('pay_group', 'is', null), where('pay_group', '=', run.pay_group)]),
      ),
    )
    .orderBy('pay_date')
    .orderBy('run_id')
    .limit(FOUND_AT_MOST)
    .execute();
  return others.map((other) => fail(`${other.run_id}: ${other.period_start} to ${other.period_end}`));
}

/** The employer's schedule has the pay date, and other days for it to pay. */
export async function periodDiffers(db: Db, { basis: { run } }: RunQuestion): Promise<Found[]> {
  if (run.kind === 'off_cycle') return [];
  const schedule = scheduleOf(run, await readSchedules(db, run.employer_id));
  const date = schedule?.pay_dates.find((one) => one.pay_date === run.pay_date);
  if (date === undefined) return [];
  const { period_start, period_end } = date;
  if (period_start === run.period_start && period_end === run.period_end) return [];
  return [{ example: `${run.pay_date} pays ${period_start} to ${period_end}`, result: 'warn' }];
}
