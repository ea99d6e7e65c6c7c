/** The readiness checks of a run's pay dates and period, mostly against the finalized runs of its employer. */
import { type Check, type EmployerQuestion, FOUND_AT_MOST, type Found, fail } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { planOf } from '../calculation/plan.ts';
import { readSchedules } from '../settings/schedules.ts';
import { type Basis, planOfBasis, scheduleOf } from './basis.ts';
import { type FrozenRun, frozenRuns } from './compute.ts';
import { finalizedRegularRuns } from './store.ts';
import type { Summary } from './summary.ts';

/** A question about a run that is computed. */
export type RunQuestion = EmployerQuestion & {
  /** Null for a run that is not stored. */
  runId: string | null;
  basis: Basis;
  summary: Summary;
};

/** Warns if the pay dates by which amounts are divided were stepped from the run's own. */
async function calendarAssumed(_: Db, { basis }: RunQuestion): Promise<Found[]> {
  const { dates, calendarAssumed: isAssumed } = planOfBasis(basis);
  if (!isAssumed || dates === null) return [];
  const { pay_frequency, pay_date } = basis.run;
  const example = `${dates.length} ${pay_frequency} pay dates, stepped from ${pay_date}`;
  return [{ example, result: 'warn' }];
}

/**
 * Fails for each finalized regular run that pays some of the same days to some of the same employees. A run
 * without a pay group is for all groups. Off-cycle runs always share the period of a regular run.
 */
async function periodsOverlap(db: Db, { runId, basis: { run } }: RunQuestion): Promise<Found[]> {
  if (run.kind === 'off_cycle') return [];
  const others = await finalizedRegularRuns(db, run)
    .select(['run_id', 'period_start', 'period_end'])
    .where('period_start', '<=', run.period_end)
    .where('period_end', '>=', run.period_start)
    .where('run_id', '<>', runId ?? '')
    .orderBy('pay_date')
    .orderBy('run_id')
    .limit(FOUND_AT_MOST)
    .execute();
  return others.map((other) => fail(`${other.run_id}: ${other.period_start} to ${other.period_end}`));
}

/** Warns if the employer's schedule has another pay period for the pay date. */
async function periodDiffers(db: Db, { basis: { run } }: RunQuestion): Promise<Found[]> {
  if (run.kind === 'off_cycle') return [];
  const schedule = scheduleOf(run, await readSchedules(db, run.employer_id));
  const date = schedule?.pay_dates.find((one) => one.pay_date === run.pay_date);
  if (date === undefined) return [];
  const { period_start, period_end } = date;
  if (period_start === run.period_start && period_end === run.period_end) return [];
  return [{ example: `${run.pay_date} pays ${period_start} to ${period_end}`, result: 'warn' }];
}

/** Fails if today's pay dates give the previous run of the year another N or k than the run froze. */
async function calendarDiffers(db: Db, { basis }: RunQuestion): Promise<Found[]> {
  const previous = await previousOfYear(db, basis);
  if (previous === null) return [];
  const frozen = planOfBasis(previous.basis);
  const { dates } = planOfBasis(basis);
  const today = planOf({ ...previous.basis.run, pay_dates: dates, period_ends: null }, null);
  const { pay_date } = previous.basis.run;
  const was = `${previous.run_id} was check ${frozen.k ?? '?'} of ${frozen.N}`;
  if (!today.ok) return [fail(`${was}; ${pay_date} is not a pay date today`)];
  const { k, N } = today.plan;
  return k === frozen.k && N === frozen.N ? [] : [fail(`${was}; today it is check ${k ?? '?'} of ${N}`)];
}

/** Warns if the previous run of the year has another scheme or remainder. */
async function policyDiffers(db: Db, { basis }: RunQuestion): Promise<Found[]> {
  const previous = await previousOfYear(db, basis);
  if (previous === null) return [];
  return (['scheme', 'remainder'] as const)
    .filter((option) => previous.basis.run[option] !== basis.run[option])
    .map((option) => ({
      example: `${option} ${basis.run[option]}; ${previous.run_id} has ${previous.basis.run[option]}`,
      result: 'warn',
    }));
}

/** Fails for each earlier pay date of the year, since the first finalized regular run, that has no finalized run. */
async function payDateSkipped(db: Db, { basis }: RunQuestion): Promise<Found[]> {
  const { run } = basis;
  const { dates, calendarAssumed } = planOfBasis(basis);
  if (run.kind === 'off_cycle' || dates === null || calendarAssumed) return [];
  const finalized = await finalizedRegularRuns(db, run)
    .select('pay_date')
    // A run of one pay group does not pay the others.
    .$if(run.pay_group === null, (query) => query.where('pay_group', 'is', null))
    .orderBy('pay_date')
    .execute();
  const first = finalized[0]?.pay_date;
  if (first === undefined) return [];
  const paid = new Set(finalized.map(({ pay_date }) => pay_date));
  return dates
    .filter((date) => date > first && date < run.pay_date && !paid.has(date))
    .slice(0, FOUND_AT_MOST)
    .map((date) => ({ ...fail(date), ids: [date] }));
}

/** Returns the last finalized regular run before this one, of the same frequency, pay group and calendar year. */
async function previousOfYear(db: Db, { run, previous }: Basis): Promise<FrozenRun | null> {
  if (previous === null || run.kind === 'off_cycle') return null;
  const [frozen] = await frozenRuns(db, [previous]);
  return frozen !== undefined && yearOf(frozen.basis.run.pay_date) === yearOf(run.pay_date) ? frozen : null;
}

export const PERIODS_OVERLAP: Check<Db, RunQuestion> = {
  id: 'periods-overlap',
  ask: periodsOverlap,
  advice: 'A finalized run already covers days of this pay period. Correct the period, or void that run.',
  passed: 'No finalized run covers days of this pay period.',
};

export const CALENDAR_CHECKS: readonly Check<Db, RunQuestion>[] = [
  {
    id: 'calendar-assumed',
    ask: calendarAssumed,
    advice:
      'Bank holidays can move a pay date into another year, which changes every amount. Set a pay schedule, or state pay_dates.',
    passed: 'The pay dates of the year were given.',
  },
  {
    id: 'calendar-differs',
    ask: calendarDiffers,
    advice:
      'The amounts of the year no longer add up, because the pay dates changed after a run was finalized. Correct the pay schedule or pay_dates, or void that run.',
    passed: 'The previous run of the year has the same place among the pay dates.',
  },
  {
    id: 'policy-differs',
    ask: policyDiffers,
    advice: 'Amounts of a year under several policies may not add up. Check that the change is intended.',
    passed: 'The previous run of the year has the same scheme and remainder.',
  },
  {
    id: 'pay-date-skipped',
    ask: payDateSkipped,
    advice: 'These pay dates have no finalized run. Finalize their runs first, or correct the pay schedule.',
    passed: 'Every earlier pay date since the first run has a finalized run.',
  },
  {
    id: 'period-differs-from-schedule',
    ask: periodDiffers,
    advice: 'The pay schedule has a different pay period for this pay date. Correct the run or the schedule.',
    passed: 'The pay period matches the pay schedule, or no schedule has the pay date.',
  },
];
