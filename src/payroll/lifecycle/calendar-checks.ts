/** Compares the calendar of a run, its period and its policy with the pay schedule and with finalized runs. */
import { type EmployerQuestion, FOUND_AT_MOST, type Found, fail } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { centsOf, printReadable } from '../../money.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { type Plan, planOf } from '../calculation/plan.ts';
import { scheduleOf } from '../compute/calendar.ts';
import type { Computation, EarlierRun } from '../compute/computation.ts';
import type { Summary } from '../compute/summary.ts';
import { countOfEmployees } from '../compute/totals.ts';
import { paidRuns, runOnPayDate, runsOverPeriod } from '../records/runs.ts';
import { totalsOf } from '../records/totals.ts';
import { inYear, readSchedules } from '../settings/schedules.ts';

/** A question about a run that is computed. */
export type RunQuestion = EmployerQuestion & { computation: Computation; summary: Summary };

export async function calendarAssumed(_: Db, { computation }: RunQuestion): Promise<Found[]> {
  const { dates, calendarAssumed: isAssumed } = computation.plan();
  if (!isAssumed || dates === null) return [];
  const { pay_frequency, pay_date } = computation.run;
  const example = `${dates.length} ${pay_frequency} pay dates, stepped from ${pay_date}`;
  return [{ example, result: 'warn' }];
}

/** Fails if another finalized run has the pay date: `finalizeRun` refuses this one then. */
export async function payDateTaken(db: Db, { computation: { runId, run } }: RunQuestion): Promise<Found[]> {
  const holder = run.kind === 'off_cycle' ? null : await runOnPayDate(db, runId, run);
  return holder === null ? [] : [fail(holder)];
}

/** Fails for each finalized regular run of some of the same days. Off-cycle runs always share a period with one. */
export async function periodsOverlap(db: Db, { computation: { runId, run } }: RunQuestion): Promise<Found[]> {
  if (run.kind === 'off_cycle') return [];
  const overlapping = await runsOverPeriod(db, runId, run, FOUND_AT_MOST);
  return overlapping.map(({ run_id, period_start, period_end }) =>
    fail(`${run_id}: ${period_start} to ${period_end}`),
  );
}

/** Returns the run's pay date in the pay schedule, or undefined. */
export async function scheduledDate(db: Db, { computation: { run } }: RunQuestion) {
  const schedules = inYear(await readSchedules(db, run.employer_id), yearOf(run.pay_date));
  const schedule = scheduleOf(run, schedules);
  return schedule?.pay_dates.find(({ pay_date }) => pay_date === run.pay_date);
}

export async function periodDiffers(db: Db, question: RunQuestion): Promise<Found[]> {
  const { run } = question.computation;
  if (run.kind === 'off_cycle') return [];
  const date = await scheduledDate(db, question);
  if (date === undefined) return [];
  const { period_start, period_end } = date;
  if (period_start === run.period_start && period_end === run.period_end) return [];
  return [{ example: `${run.pay_date} pays ${period_start} to ${period_end}`, result: 'warn' }];
}

/** Returns the last finalized regular run before this one, of the same frequency, pay group and calendar year. */
function previousOfYear({ run, previous }: Computation): EarlierRun | null {
  return previous === null || run.kind === 'off_cycle' || previous.isPriorYear ? null : previous;
}

/** Fails if the previous run of the year had a list of pay dates and this one has none, or has another N or k in it. */
export async function calendarDiffers(_: Db, { computation }: RunQuestion): Promise<Found[]> {
  const previous = previousOfYear(computation);
  if (previous === null) return [];
  const frozen = previous.plan();
  const { dates } = computation.plan();
  if (hasList(frozen) && !hasList(computation.plan()))
    return [fail(`${previous.runId} had a list of pay dates; today there is none`)];
  const today = planOf({ ...previous.run, pay_dates: dates, period_ends: null }, null);
  const was = `${previous.runId} was check ${frozen.k ?? '?'} of ${frozen.N}`;
  if (!today.ok) return [fail(`${was}; ${previous.run.pay_date} is not a pay date today`)];
  const { k, N } = today.plan;
  return k === frozen.k && N === frozen.N ? [] : [fail(`${was}; today it is check ${k ?? '?'} of ${N}`)];
}

function hasList({ dates, calendarAssumed }: Plan): boolean {
  return dates !== null && !calendarAssumed;
}

export async function policyDiffers(_: Db, { computation }: RunQuestion): Promise<Found[]> {
  const previous = previousOfYear(computation);
  if (previous === null) return [];
  return (['scheme', 'remainder'] as const)
    .filter((option) => previous.run[option] !== computation.run[option])
    .map((option) => ({
      example: `${option} ${computation.run[option]}; ${previous.runId} has ${previous.run[option]}`,
      result: 'warn',
    }));
}

/** Fails for each earlier pay date of the year, since the first finalized regular run, that has no finalized run. */
export async function payDateSkipped(db: Db, { computation }: RunQuestion): Promise<Found[]> {
  const { run } = computation;
  const { dates, calendarAssumed } = computation.plan();
  if (run.kind === 'off_cycle' || dates === null || calendarAssumed) return [];
  const paid = await paidRuns(db, run);
  return dates
    .filter((date) => date < run.pay_date && !paid.some(({ pay_date }) => pay_date === date))
    .flatMap((date) => {
      const before = paid.findLast(({ pay_date }) => pay_date < date);
      if (before === undefined) return [];
      // An accepted date takes nothing: the run before it shows how much that is.
      const { employees, member_amount } = totalsOf(before);
      const size = `${countOfEmployees(employees)}, ${printReadable(centsOf(member_amount))}`;
      return [{ ...fail(`${date}: not run; ${size} on ${before.pay_date}`), ids: [date] }];
    })
    .slice(0, FOUND_AT_MOST);
}

/** Returns the text of a passed check that does not apply to off-cycle runs. */
export function passedIfRegular(
  offCycle: string,
  passed: (db: Db, question: RunQuestion) => Promise<string>,
) {
  return async (db: Db, question: RunQuestion) =>
    question.computation.run.kind === 'off_cycle' ? offCycle : passed(db, question);
}

/** Returns the text of a passed comparison with the previous run of the year, which has `same`. */
export function passedLikePrevious(same: string) {
  return passedIfRegular(
    'An off-cycle run is not compared with others of the year.',
    async (_, { computation }) => {
      const previous = previousOfYear(computation);
      if (previous === null)
        return 'No earlier run of the year is finalized for this pay frequency and pay group.';
      return `The previous run of the year, ${previous.runId}, has the same ${same}.`;
    },
  );
}
