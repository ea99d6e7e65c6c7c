/** Compares the calendar of a run, its period and its policy with the pay schedule and with finalized runs. */
import { type EmployerQuestion, FOUND_AT_MOST, type Found, fail } from '../../checks.ts';
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
import type { Computation, EarlierRun } from '../compute/computation.ts';
import type { Summary } from '../compute/summary.ts';
import type { RunTerms } from '../compute/terms.ts';
import { countOfEmployees } from '../compute/totals.ts';
import { paidRuns, runOnPayDate, runsOverPeriod } from '../records/runs.ts';
import { totalsOf } from '../records/totals.ts';
import { inYear, readSchedules, type Schedule } from '../settings/schedules.ts';

/** A question about a run that is computed. */
export type RunQuestion = EmployerQuestion & { computation: Computation; summary: Summary };

/**
 * Warns of the first run of a year without a list of pay dates: each check takes an even part of the usual number of checks.
 */
export async function noPaySchedule(_: Db, { computation }: RunQuestion): Promise<Found[]> {
  if (computation.plan().calendar !== null) return [];
  if (earlierOfYear(computation).some((earlier) => earlier.plan().calendar === null)) return [];
  const { pay_frequency, pay_group, pay_date } = computation.run;
  const of = pay_group === null ? '' : ` of ${pay_group}`;
  const example = `${pay_frequency}${of}, ${yearOf(pay_date)}: 1/${PERIODS_PER_YEAR[pay_frequency]} of the year on each check`;
  return [{ example, result: 'warn' }];
}

/** Fails if another finalized run has the pay date: `finalizeRun` refuses this one then. */
export async function payDateTaken(db: Db, { computation: { runId, run } }: RunQuestion): Promise<Found[]> {
  const holder = run.kind === 'off_cycle' ? null : await runOnPayDate(db, runId, run);
  return holder === null ? [] : [fail(holder)];
}

/** Fails once a year for a schedule whose few checks take the amounts of the whole year. */
export async function shortYear(db: Db, { computation }: RunQuestion): Promise<Found[]> {
  const { run } = computation;
  const schedule = await scheduleOfRun(db, run);
  if (run.kind === 'off_cycle' || schedule?.year_in_fewer_checks !== true) return [];
  const N = schedule.pay_dates.filter(({ takes }) => takes === 'all').length;
  const { amount } = exampleOf([{ share: `1/${N}` }], run.pay_frequency);
  const year = yearOf(run.pay_date);
  const ids = [[run.pay_frequency, run.pay_group ?? '', year].join(':')];
  return [{ ...fail(`150.00 a month: ${amount} on each of ${N} checks`), ids }];
}

async function scheduleOfRun(db: Db, run: Computation['run']): Promise<Schedule | null> {
  return scheduleOf(run, inYear(await readSchedules(db, run.employer_id), yearOf(run.pay_date)));
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
  const schedule = await scheduleOfRun(db, run);
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

/** Returns the final runs of the same frequency, pay group and calendar year that are not voided. */
function earlierOfYear({ run, earlier }: Computation): EarlierRun[] {
  return earlier.filter(
    (other) =>
      !other.isVoided &&
      !other.isPriorYear &&
      other.run.pay_frequency === run.pay_frequency &&
      other.run.pay_group === run.pay_group,
  );
}

/** Returns the last finalized regular run before this one, of the same frequency, pay group and calendar year. */
function previousOfYear({ run, previous }: Computation): EarlierRun | null {
  return previous === null || run.kind === 'off_cycle' || previous.isPriorYear ? null : previous;
}

/** Fails if the share of the check differs from that of the last run before it that took one, or if there is no list any more. */
export async function calendarDiffers(_: Db, { computation }: RunQuestion): Promise<Found[]> {
  const { run } = computation;
  const previous = previousOfYear(computation);
  if (previous === null) return [];
  const { calendar } = computation.plan();
  const year = yearOf(run.pay_date);
  const idOf = (share: string) => [run.pay_frequency, run.pay_group ?? '', year, share].join(':');
  if (previous.plan().calendar !== null && calendar === null)
    return [
      { ...fail(`${previous.runId} had a list of pay dates; today there is none`), ids: [idOf('none')] },
    ];
  const before = earlierOfYear(computation).filter(
    (other) => other.run.kind === 'regular' && other.run.pay_date < run.pay_date,
  );
  const differences = PERIOD_CLASSES.flatMap((periods) => {
    const now = shareOfRun(computation, periods);
    const then =
      before.map((other) => shareOfRun(other, periods)).findLast((share) => share !== null) ?? null;
    if (now === null || then === null || now.share === then.share) return [];
    return [{ ...fail(differenceInWords(computation, periods, then, now)), ids: [idOf(now.share)] }];
  });
  // Both kinds of deductions most often have the same share.
  return differences.filter(({ ids }, index) => index === 0 || ids[0] !== differences[0]?.ids[0]);
}

/** Returns the share of the year that a run takes on its own date; null if it takes nothing. */
function shareOfRun(terms: RunTerms, periods: PeriodClass): DateShare | null {
  const { pay_frequency, pay_date } = terms.run;
  const { calendar } = terms.plan();
  return calendar === null ? evenShare(pay_frequency) : shareOn(calendar, pay_date, periods);
}

/** Returns `69.23 until now; 207.71 left of 1,800.00, on 4 checks; 51.92`, for an example of 150.00 a month. */
function differenceInWords(terms: RunTerms, periods: PeriodClass, then: DateShare, now: DateShare): string {
  const { run } = terms;
  const calendar = terms.plan().calendar ?? [];
  const remaining = calendar
    .filter(({ pay_date }) => pay_date >= run.pay_date)
    .flatMap((date) => date[periods] ?? [])
    .filter(({ share }) => share === now.share);
  const example = (...shares: readonly DateShare[]) => exampleOf(shares, run.pay_frequency);
  const { amount, total } = example(...remaining);
  const checks = remaining.length === 1 ? '1 check' : `${remaining.length} checks`;
  return `${example(then).amount} until now; ${amount} left of ${total}, on ${checks}; ${example(now).amount}`;
}

/** Fails for each earlier pay date of the year, since the first finalized regular run, that has no finalized run. */
export async function payDateSkipped(db: Db, { computation }: RunQuestion): Promise<Found[]> {
  const { run } = computation;
  const { calendar } = computation.plan();
  if (run.kind === 'off_cycle' || calendar === null) return [];
  const paid = await paidRuns(db, run);
  return calendar
    .filter(({ takes }) => takes !== 'none')
    .map(({ pay_date }) => pay_date)
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
