/** The checks of a run's calendar, its period and its policy against the pay schedule and finalized runs. */
import { FOUND_AT_MOST, type Found } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { centsOf, printReadable } from '../../money.ts';
import { exampleOf } from '../calculation/amounts.ts';
import {
  type DateShare,
  evenShare,
  PERIOD_CLASSES,
  type PeriodClass,
  shareOn,
} from '../calculation/calendar.ts';
import { PERIODS_PER_YEAR, yearOf } from '../calculation/pay-dates.ts';
import { scheduleOf } from '../compute/calendar.ts';
import type { Computation } from '../compute/computation.ts';
import type { EarlierRun } from '../compute/payout.ts';
import type { RunTerms } from '../compute/terms.ts';
import { countOfEmployees } from '../compute/totals.ts';
import type { Run } from '../records/body.ts';
import { paidRuns, runOnPayDate, runsOverPeriod } from '../records/runs.ts';
import { totalsOf } from '../records/totals.ts';
import { inYear, readSchedules, type Schedule } from '../settings/schedules.ts';
import { passedIfRegular, type RunCheck } from './check.ts';

const SETTINGS = { at: 'settings', query: {}, docs: 'payroll-settings.md#pay-schedules' } as const;

/** `finalizeRun` also refuses such a run. */
export const PAY_DATE_TAKEN: RunCheck = {
  id: 'pay-date-taken',
  isBlocking: true,
  title: 'Another run has this pay date',
  severity: 'fail',
  async find(db, { computation: { runId, run } }) {
    const holder = run.kind === 'off_cycle' ? null : await runOnPayDate(db, runId, run);
    return holder === null ? [] : [{ run_id: holder, date: run.pay_date, result: 'fail' }];
  },
  advice:
    'Another run of this pay frequency and pay group is final for this pay date, and nobody can accept a second one. Void that run, or delete this one.',
  passed: passedIfRegular(
    'An off-cycle run may share its pay date with other runs.',
    'No other run is final for this pay date.',
  ),
};

type Period = { period_start: string; period_end: string };

/** Off-cycle runs always share a period with a regular one. */
export const PERIODS_OVERLAP: RunCheck<Found & Period> = {
  id: 'periods-overlap',
  title: 'Another run covers days of this pay period',
  severity: 'fail',
  async find(db, { computation: { runId, run } }) {
    if (run.kind === 'off_cycle') return [];
    const overlapping = await runsOverPeriod(db, runId, run, FOUND_AT_MOST);
    return overlapping.map((other) => ({ ...other, result: 'fail' }));
  },
  text: ({ run_id, period_start, period_end }) => `${run_id}: ${period_start} to ${period_end}`,
  advice: 'A finalized run already covers days of this pay period. Correct the period, or void that run.',
  passed: passedIfRegular(
    'An off-cycle run may share its pay period with other runs.',
    'No finalized run covers days of this pay period.',
  ),
};

/** Warns in the first run of a year without a list of pay dates. */
export const NO_PAY_SCHEDULE: RunCheck<Found & { run: Run }> = {
  id: 'no-pay-schedule',
  title: 'No pay schedule has the pay dates of the year',
  severity: 'warn',
  detail: 'Only the first run of the year warns.',
  async find(_, { computation }) {
    if (computation.plan().calendar !== null) return [];
    if (earlierLike(computation).some((earlier) => !earlier.isPriorYear && earlier.plan().calendar === null))
      return [];
    return [{ run: computation.run, result: 'warn' }];
  },
  text({ run: { pay_frequency, pay_group, pay_date } }) {
    const ofGroup = pay_group === null ? '' : ` of ${pay_group}`;
    return `${pay_frequency}${ofGroup}, ${yearOf(pay_date)}: 1/${PERIODS_PER_YEAR[pay_frequency]} of the year on each check`;
  },
  advice:
    'Each paycheck takes an even part of the year for the usual number of paychecks, so a year with more or fewer dates does not add up. Set the pay schedule of the year.',
  passed: async (_, { computation }) =>
    computation.plan().calendar === null
      ? 'No pay schedule has the pay dates of the year, as an earlier run warned.'
      : 'The pay schedule has the pay dates of the year.',
  fixed: SETTINGS,
};

/** Fails once a year for a schedule whose few checks take the amounts of the whole year. `checks`: their number. */
export const SHORT_YEAR: RunCheck<Found & { checks: number; run: Run }> = {
  id: 'short-year',
  title: 'Few paychecks take the amounts of the whole year',
  severity: 'fail',
  async find(db, { computation }) {
    const { run } = computation;
    const schedule = await scheduleOfRun(db, run);
    if (run.kind === 'off_cycle' || schedule?.year_in_fewer_checks !== true) return [];
    const checks = schedule.pay_dates.filter(({ takes }) => takes === 'all').length;
    return [{ checks, run, ids: [idOfYear(run)], result: 'fail' }];
  },
  text({ checks, run }) {
    const { amount } = exampleOf([{ share: `1/${checks}` }], run.pay_frequency);
    return `150.00 a month: ${amount} on each of ${checks} checks`;
  },
  advice:
    'The pay schedule says that coverage lasts all year and its checks do not, so each check takes more than a month. Check the example, and accept it once.',
  passed: 'No schedule divides a year among fewer checks.',
  fixed: SETTINGS,
};

/** Returns the id of a finding about the calendar of a run. */
function idOfYear({ pay_frequency, pay_group, pay_date }: Run, ...share: readonly string[]): string {
  return [pay_frequency, pay_group ?? '', yearOf(pay_date), ...share].join(':');
}

async function scheduleOfRun(db: Db, run: Computation['run']): Promise<Schedule | null> {
  return scheduleOf(run, inYear(await readSchedules(db, run.employer_id), yearOf(run.pay_date)));
}

/** Returns the final runs of the same frequency and pay group, of this and the previous calendar year, that are not voided. */
function earlierLike({ run, earlier }: Computation): EarlierRun[] {
  return earlier.filter(
    (other) =>
      !other.isVoided &&
      other.run.pay_frequency === run.pay_frequency &&
      other.run.pay_group === run.pay_group,
  );
}

/** `shares`: of the check, before and now. Null if the list of pay dates was removed. */
type Differs = Found & { terms: RunTerms; shares: Shares | null };
type Shares = { periods: PeriodClass; before: DateShare; beforeIn: string; now: DateShare };

/**
 * Compares the check's share of the year with that of the last run that took one, in this year or the previous one. A removed list
 * of pay dates fails too; `no-pay-schedule` warns of a new year without one.
 */
export const CALENDAR_DIFFERS: RunCheck<Differs> = {
  id: 'calendar-differs',
  title: 'The pay dates changed since the previous run',
  severity: 'fail',
  async find(_, { computation }) {
    const { run } = computation;
    const { previous } = computation;
    if (previous === null) return [];
    const differs = (shares: Shares | null): Differs => {
      const ids = [idOfYear(run, shares?.now.share ?? 'none')];
      return { run_id: previous.runId, terms: computation, shares, ids, result: 'fail' };
    };
    const isRemoved = previous.plan().calendar !== null && computation.plan().calendar === null;
    if (isRemoved && !previous.isPriorYear) return [differs(null)];
    const runs = earlierLike(computation).filter(
      (other) => other.run.kind === 'regular' && other.run.pay_date < run.pay_date,
    );
    const differences = PERIOD_CLASSES.flatMap((periods) => {
      const now = shareOfRun(computation, periods);
      const last = runs.findLast((other) => shareOfRun(other, periods) !== null);
      const before = last === undefined ? null : shareOfRun(last, periods);
      if (last === undefined || now === null || before === null || now.share === before.share) return [];
      return [{ periods, before, beforeIn: yearOf(last.run.pay_date), now }];
    });
    // Deductions of both classes usually have the same share.
    const [first] = differences;
    return differences
      .filter((shares) => shares === first || shares.now.share !== first?.now.share)
      .map(differs);
  },
  text({ run_id, terms, shares }) {
    if (shares === null) return `${run_id} had a list of pay dates; today there is none`;
    const { before, beforeIn, now, periods } = shares;
    const { run } = terms;
    const example = (...of: readonly DateShare[]) => exampleOf(of, run.pay_frequency);
    const [last, next] = [example(before).amount, example(now).amount];
    const year = yearOf(run.pay_date);
    if (beforeIn !== year) return `${last} on a check of ${beforeIn}; ${next} on a check of ${year}`;
    const remaining = (terms.plan().calendar ?? [])
      .filter(({ pay_date }) => pay_date >= run.pay_date)
      .flatMap((date) => date[periods] ?? [])
      .filter(({ share }) => share === now.share);
    const { amount, total } = example(...remaining);
    const checks = remaining.length === 1 ? '1 check' : `${remaining.length} checks`;
    return `${last} until now; ${amount} left of ${total}, on ${checks}; ${next}`;
  },
  advice:
    'The pay dates changed, so each check takes another part of the year. Within a year, the remaining checks take what is left of it. Correct the pay schedule, or accept the new amounts.',
  passed: passedIfRegular(
    'An off-cycle run is not compared with others of the year.',
    async (_, question) => {
      const { previous } = question.computation;
      return previous === null
        ? 'No earlier run is finalized for this pay frequency and pay group.'
        : `The previous run, ${previous.runId}, has the same share of its year.`;
    },
  ),
  fixed: SETTINGS,
};

/** Returns the share of the year that a run takes on its own date; null if it takes nothing. */
function shareOfRun(terms: RunTerms, periods: PeriodClass): DateShare | null {
  const { pay_frequency, pay_date } = terms.run;
  const { calendar } = terms.plan();
  return calendar === null ? evenShare(pay_frequency) : shareOn(calendar, pay_date, periods);
}

/** `before`: the last run before the pay date. Its size shows how much the skipped date leaves open. */
type Skipped = Found & { before: Awaited<ReturnType<typeof paidRuns>>[number] };

/** Looks at the earlier pay dates of the year, from the first finalized regular run on. */
export const PAY_DATE_SKIPPED: RunCheck<Skipped> = {
  id: 'pay-date-skipped',
  title: 'Earlier pay dates have no finalized run',
  severity: 'fail',
  async find(db, { computation }) {
    const { run } = computation;
    const { calendar } = computation.plan();
    if (run.kind === 'off_cycle' || calendar === null) return [];
    const paid = await paidRuns(db, run);
    return calendar
      .filter(({ takes }) => takes !== 'none')
      .map(({ pay_date }) => pay_date)
      .filter((date) => date < run.pay_date && !paid.some(({ pay_date }) => pay_date === date))
      .flatMap((date): Skipped[] => {
        const before = paid.findLast(({ pay_date }) => pay_date < date);
        return before === undefined ? [] : [{ date, before, ids: [date], result: 'fail' }];
      })
      .slice(0, FOUND_AT_MOST);
  },
  text({ date, before }) {
    const { employees, member_amount } = totalsOf(before);
    const size = `${countOfEmployees(employees)}, ${printReadable(centsOf(member_amount))}`;
    return `${date}: not run; ${size} on ${before.pay_date}`;
  },
  advice: 'These pay dates have no finalized run. Finalize their runs first, or correct the pay schedule.',
  passed: passedIfRegular(
    'An off-cycle run is not compared with the pay dates of the year.',
    'Every earlier pay date since the first run has a finalized run.',
  ),
  fixed: SETTINGS,
};

export const PERIOD_DIFFERS: RunCheck<Found & Period> = {
  id: 'period-differs-from-schedule',
  title: 'The pay schedule has a different pay period',
  severity: 'warn',
  async find(db, { computation: { run } }) {
    const listed = run.kind === 'off_cycle' ? undefined : await scheduledDate(db, run);
    if (listed === undefined) return [];
    const { period_start, period_end } = listed;
    if (period_start === run.period_start && period_end === run.period_end) return [];
    return [{ date: run.pay_date, period_start, period_end, result: 'warn' }];
  },
  text: ({ date, period_start, period_end }) => `${date} pays ${period_start} to ${period_end}`,
  advice: 'The pay schedule has a different pay period for this pay date. Correct the run or the schedule.',
  passed: passedIfRegular('An off-cycle run has its own pay period.', async (db, { computation: { run } }) =>
    (await scheduledDate(db, run)) === undefined
      ? 'No pay schedule has this pay date.'
      : 'The pay period matches the pay schedule.',
  ),
  fixed: SETTINGS,
};

/** Returns the run's pay date in the pay schedule, or undefined. */
async function scheduledDate(db: Db, run: Run) {
  const schedule = await scheduleOfRun(db, run);
  return schedule?.pay_dates.find(({ pay_date }) => pay_date === run.pay_date);
}
