/** The calendar of a run and the place of its check, computed once for all lines. */
import type { PayFrequency } from '../../contract/employee.ts';
import { isDay } from '../../contract/instant.ts';
import type { Problem } from '../../errors.ts';
import {
  listProblem,
  monthWithoutDate,
  nearestDates,
  PERIODS_PER_YEAR,
  REAL_DAY_RULE,
  steppedDates,
  yearOf,
} from './pay-dates.ts';

// In each list, the first value is the default.
export const SCHEMES = ['annualized', 'month-even', 'first-checks'] as const;
export const APPLIES_ON = ['pay_date', 'period_end'] as const;
export const REMAINDERS = ['last', 'spread', 'none'] as const;
export const EXTRA_PAYCHECKS = ['take', 'skip'] as const;

export type PlannedRun = {
  kind: 'regular' | 'off_cycle';
  pay_frequency: PayFrequency;
  pay_date: string;
  /** The calendar year's pay dates, if the run has its own list. */
  pay_dates?: string[] | null | undefined;
  /** The last day of the pay period of each of `pay_dates`; null if they are unknown. */
  period_ends?: string[] | null | undefined;
  scheme: (typeof SCHEMES)[number];
  /** The field of the run that holds the day on which a deduction must be in effect. */
  applies_on: (typeof APPLIES_ON)[number];
  remainder: (typeof REMAINDERS)[number];
  extra_paycheck: (typeof EXTRA_PAYCHECKS)[number];
};

export type ScheduledDate = { pay_date: string; period_end: string };

type Calendar = {
  /** C: the regular pay dates of the year. Null if unknown; N is then the periods of a year. */
  dates: string[] | null;
  /** The last day of the pay period of each of `dates`; null if they are unknown. */
  periodEnds: string[] | null;
  /** C was stepped, not given: readiness warns, because bank holidays move pay dates over New Year. */
  calendarAssumed: boolean;
};

export type Plan = Calendar & {
  run: PlannedRun;
  /** The run's remainder, or `none` without a list of pay dates: a stepped calendar can miss the last check. */
  remainder: PlannedRun['remainder'];
  month: number;
  /** How many checks share the cycle: the year's, or the month's that count. */
  N: number;
  /** Place of the check in the cycle, from 1; greater than N past the month's first checks. Null if it has none. */
  k: number | null;
  /** Place of the check in the year, from 1. Null if it has none. */
  placeInYear: number | null;
  /** The day of each of the N checks on which a deduction must be in effect. Empty if C is unknown. */
  cycleDays: readonly string[];
};

type Planned = { ok: true; plan: Plan } | { ok: false; problem: Problem };

/** The checks of a month that `first-checks` takes from. */
const FIRST_CHECKS: Readonly<Record<PayFrequency, number>> = {
  monthly: 1,
  semimonthly: 2,
  biweekly: 2,
  weekly: 4,
};

/**
 * Plans a run by the employer's pay dates for its frequency and pay group, of any years. A check that is not a regular
 * pay date, or whose place among them is unknown, has no k: it takes E/N, as with remainder `none`.
 */
export function planOf(run: PlannedRun, schedule: readonly ScheduledDate[] | null): Planned {
  const { pay_date, pay_frequency } = run;
  if (!isDay(pay_date)) return refused('pay_date', REAL_DAY_RULE);
  const calendar = listedCalendar(run, schedule);
  if (calendar !== null) {
    const problem = listedProblem(run, calendar.dates);
    return problem === null ? planned(run, calendar) : { ok: false, problem };
  }
  const dates = steppedDates(pay_date, pay_frequency);
  if (dates !== null || run.scheme === 'annualized')
    return planned(run, { dates, periodEnds: null, calendarAssumed: dates !== null });
  return refused(
    'pay_dates',
    `is required: without a list of pay dates a ${pay_frequency} run can only have scheme annualized`,
  );
}

/**
 * Reports whether a line is the first or the last one within its cycle, and its deduction is not in effect on all days
 * of the cycle. A contribution for the run's own frequency belongs to no cycle.
 */
export function isPartialCycle(
  { run, cycleDays, k, N }: Plan,
  period: PayFrequency,
  isInEffectOn: (day: string) => boolean,
): boolean {
  if (period === run.pay_frequency || k === null || k > N || cycleDays.every(isInEffectOn)) return false;
  const hasLine = cycleDays.map((day, index) => index === k - 1 || isInEffectOn(day));
  return hasLine.indexOf(true) === k - 1 || hasLine.lastIndexOf(true) === k - 1;
}

function listedCalendar(run: PlannedRun, schedule: readonly ScheduledDate[] | null) {
  if (run.pay_dates) {
    return { dates: run.pay_dates, periodEnds: run.period_ends ?? null, calendarAssumed: false };
  }
  const ofYear = (schedule ?? []).filter(({ pay_date }) => yearOf(pay_date) === yearOf(run.pay_date));
  if (ofYear.length === 0) return null;
  return {
    dates: ofYear.map(({ pay_date }) => pay_date),
    periodEnds: ofYear.map(({ period_end }) => period_end),
    calendarAssumed: false,
  };
}

function listedProblem(run: PlannedRun, dates: readonly string[]): Problem | null {
  const { pay_date, pay_frequency, scheme } = run;
  const isOwn = Array.isArray(run.pay_dates);
  const path = isOwn ? 'pay_dates' : 'pay_schedule';
  const problem = listProblem(dates, yearOf(pay_date), pay_frequency, path);
  if (problem !== null) return problem;
  const month = scheme === 'annualized' ? null : monthWithoutDate(dates);
  if (month !== null) {
    return { path, rule: `must have a pay date in every month for scheme ${scheme}; ${month} has none` };
  }
  if (run.kind === 'off_cycle' || dates.includes(pay_date)) return null;
  const nearest = nearestDates(dates, pay_date).join(' and ');
  return isOwn
    ? { path, rule: `must contain the pay date ${pay_date}; next to it are ${nearest}` }
    : { path: 'pay_date', rule: `must be a date of the pay schedule; next to ${pay_date} are ${nearest}` };
}

function refused(path: string, rule: string): Planned {
  return { ok: false, problem: { path, rule } };
}

function planned(run: PlannedRun, calendar: Calendar): Planned {
  const { pay_date, pay_frequency, scheme, kind, applies_on } = run;
  const { dates, periodEnds, calendarAssumed } = calendar;
  const isPlaced = dates !== null && kind === 'regular';
  const month = pay_date.slice(0, 'YYYY-MM'.length);
  const inScheme = (dates ?? []).filter((date) => scheme === 'annualized' || date.startsWith(month));
  const counted = scheme === 'first-checks' ? inScheme.slice(0, FIRST_CHECKS[pay_frequency]) : inScheme;
  const dayOf = (date: string): string =>
    (applies_on === 'period_end' ? periodEnds?.[dates?.indexOf(date) ?? -1] : undefined) ?? date;
  const plan: Plan = {
    ...calendar,
    run,
    remainder: dates === null || calendarAssumed ? 'none' : run.remainder,
    month: Number(month.slice('YYYY-'.length)),
    N: dates === null ? PERIODS_PER_YEAR[pay_frequency] : counted.length,
    k: isPlaced ? inScheme.indexOf(pay_date) + 1 : null,
    placeInYear: isPlaced ? dates.indexOf(pay_date) + 1 : null,
    cycleDays: counted.map(dayOf),
  };
  return { ok: true, plan };
}
