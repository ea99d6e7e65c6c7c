/** What all lines of a run share: its calendar and the place of its check, computed once. */
import type { Problem } from '../../contract/check.ts';
import { isDay } from '../../contract/instant.ts';
import type { PayFrequency } from '../../contract/pay-rate.ts';
import type { AmountOptions, Scheme } from './options.ts';
import {
  listProblem,
  nearestDates,
  PERIODS_PER_YEAR,
  REAL_DAY_RULE,
  steppedDates,
  yearOf,
} from './pay-dates.ts';

export type PlannedRun = Omit<AmountOptions, 'applies_on'> & {
  kind: 'regular' | 'off_cycle';
  pay_frequency: PayFrequency;
  pay_date: string;
  /** The calendar year's pay dates, where the run brings them. */
  pay_dates?: readonly string[] | null | undefined;
};

export type Plan = {
  run: PlannedRun;
  /** C: the regular pay dates of the year; null when they are not known, and N is then the periods of a year. */
  dates: readonly string[] | null;
  /** C was stepped, not given: readiness warns (`calendar_assumed`), because bank holidays move pay dates over New Year. */
  calendarAssumed: boolean;
  /** The month of the pay date, 1 to 12. */
  month: number;
  /** How many checks share the cycle: the year's, or the month's that count. */
  N: number;
  /** Place of the check in the cycle, from 1; greater than N past the month's first checks. Null when it has none. */
  k: number | null;
  /** Place of the check in the year, from 1. Null when it has none. */
  placeInYear: number | null;
  /** The days that a deduction must cover to be taken on every check of the cycle. */
  cycle: { first: string; last: string };
};

export type Planned = { ok: true; plan: Plan } | { ok: false; problem: Problem };

/** S of payroll.md: the checks of a month that "first-checks" takes from. */
const FIRST_CHECKS: Readonly<Record<PayFrequency, number>> = {
  monthly: 1,
  semimonthly: 2,
  biweekly: 2,
  weekly: 4,
};

/**
 * Plans a run. A check that is not one of the regular pay dates (`off_cycle`), or whose place among them is not known,
 * has no k: it takes E/N, as with remainder `none`.
 *
 * @param schedule the employer's pay dates for this frequency and pay group, of any years; null without a schedule
 */
export function planOf(run: PlannedRun, schedule: readonly string[] | null): Planned {
  if (!isDay(run.pay_date)) return refused('pay_date', REAL_DAY_RULE);
  const given = run.pay_dates ?? datesOfYear(schedule, run.pay_date);
  if (given !== null) {
    const problem = givenProblem(run, given);
    return problem === null ? planned(run, given, false) : { ok: false, problem };
  }
  const stepped = steppedDates(run.pay_date, run.pay_frequency);
  if (stepped !== null) return planned(run, stepped, true);
  if (run.scheme !== 'annualized' || run.remainder !== 'none') {
    return refused(
      'pay_dates',
      `is required: without a list a ${run.pay_frequency} run can only have scheme annualized and remainder none`,
    );
  }
  return planned(run, null, false);
}

function datesOfYear(schedule: readonly string[] | null, payDate: string): readonly string[] | null {
  const dates = (schedule ?? []).filter((date) => yearOf(date) === yearOf(payDate));
  return dates.length === 0 ? null : dates;
}

function givenProblem(run: PlannedRun, dates: readonly string[]): Problem | null {
  const { pay_date, pay_frequency } = run;
  const isOwn = Array.isArray(run.pay_dates);
  const problem = listProblem(dates, yearOf(pay_date), pay_frequency, isOwn ? 'pay_dates' : 'pay_schedule');
  if (problem !== null || run.kind === 'off_cycle' || dates.includes(pay_date)) return problem;
  const nearest = nearestDates(dates, pay_date).join(' and ');
  return isOwn
    ? { path: 'pay_dates', rule: `must contain the pay date ${pay_date}; next to it are ${nearest}` }
    : { path: 'pay_date', rule: `must be a date of the pay schedule; next to ${pay_date} are ${nearest}` };
}

function refused(path: string, rule: string): Planned {
  return { ok: false, problem: { path, rule } };
}

function planned(run: PlannedRun, dates: readonly string[] | null, calendarAssumed: boolean): Planned {
  const { pay_date, pay_frequency, scheme, kind } = run;
  const isPlaced = dates !== null && kind === 'regular';
  const inScheme = dates === null ? [] : datesOfScheme(scheme, dates, pay_date);
  const counted = scheme === 'first-checks' ? inScheme.slice(0, FIRST_CHECKS[pay_frequency]) : inScheme;
  const plan: Plan = {
    run,
    dates,
    calendarAssumed,
    month: Number(pay_date.slice('YYYY-'.length, 'YYYY-MM'.length)),
    // A month may have no regular date, and an off-cycle check in it all the same: it takes the month's share.
    N: dates === null ? PERIODS_PER_YEAR[pay_frequency] : Math.max(1, counted.length),
    k: isPlaced ? inScheme.indexOf(pay_date) + 1 : null,
    placeInYear: isPlaced ? dates.indexOf(pay_date) + 1 : null,
    cycle:
      dates === null
        ? { first: `${yearOf(pay_date)}-01-01`, last: `${yearOf(pay_date)}-12-31` }
        : { first: counted[0] ?? pay_date, last: counted.at(-1) ?? pay_date },
  };
  return { ok: true, plan };
}

function datesOfScheme(scheme: Scheme, dates: readonly string[], payDate: string): readonly string[] {
  if (scheme === 'annualized') return dates;
  const month = payDate.slice(0, 'YYYY-MM'.length);
  return dates.filter((date) => date.startsWith(month));
}
