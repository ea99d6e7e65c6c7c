/** Proposes the pay dates of a year, and which of them take deductions, for a person to check. */
import { Temporal } from 'temporal-polyfill';
import { businessDay } from './bank-holidays.ts';

/** Pay dates every few days, or on one or more days of each month. Day 31 is the last day of every month. */
export type PayDateRule =
  | { readonly every: number; readonly from: string }
  | { readonly daysOfMonth: readonly number[] };

/** The dates that take all deductions. The others take only those of the pay frequency. The first is the default. */
export const PROPOSED_TAKES = ['every', 'first-of-month', 'first', 'last'] as const;
export type ProposedTakes = (typeof PROPOSED_TAKES)[number];

export type ProposedDate = {
  readonly pay_date: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly takes: 'all' | 'own_period';
};

/**
 * How many dates of a month take a monthly deduction: 24 of 26 in a year, 48 of 52. Dates on days of the month all take it: a
 * weekend or holiday may have moved a third one into the month.
 */
const FIRST_OF_MONTH: ReadonlyMap<string, number> = new Map([
  ['biweekly', 2],
  ['weekly', 4],
]);

/** The days between pay dates that do not depend on the month. */
export const STEP_DAYS: ReadonlyMap<string, number> = new Map([
  ['weekly', 7],
  ['biweekly', 14],
]);
/** Weekly pay dates of the longest year. */
export const DATES_MAX = 53;
/** The most days from the end of a period to its pay date. */
export const LAG_DAYS_MAX = 31;

/** A leap year, and three days of New Year on which banks are closed. */
const DAYS_COVERED = 369;

/** How dates move, for a person who checks them. */
export const DATES_MOVE =
  'A date on a weekend or a federal bank holiday moves to the business day before it.';

type Dates = Omit<ProposedDate, 'takes'>;

/**
 * Returns the pay dates of a year. A date on which banks are closed moves to the business day before it, possibly into the
 * year before. A period ends `lagDays` days before its unmoved pay date, and starts after the end of the previous period.
 */
function datesOf(year: number, rule: PayDateRule, lagDays: number): Dates[] {
  const dates = 'every' in rule ? steppedDates(year, rule) : monthlyDates(year, rule.daysOfMonth);
  const ends = dates.map((date) => date.subtract({ days: lagDays }));
  return dates.flatMap((date, index) => {
    const payDate = businessDay(date);
    const [previousEnd, end] = [ends[index - 1], ends[index]];
    if (payDate.year !== year || previousEnd === undefined || end === undefined) return [];
    const period_start = previousEnd.add({ days: 1 }).toString();
    return [{ pay_date: payDate.toString(), period_start, period_end: end.toString() }];
  });
}

/** Returns the dates of the year, an earlier one, and the next year's dates that a weekend or holiday may move. */
function steppedDates(year: number, { every, from }: { every: number; from: string }): Temporal.PlainDate[] {
  const known = Temporal.PlainDate.from(from);
  const steps = Math.floor(known.until(new Temporal.PlainDate(year, 1, 1)).days / every) - 1;
  const first = known.add({ days: steps * every });
  const length = Math.ceil(DAYS_COVERED / every) + 2;
  return Array.from({ length }, (_, index) => first.add({ days: index * every }));
}

/** Returns the dates from December of the year before to January of the next year. */
function monthlyDates(year: number, daysOfMonth: readonly number[]): Temporal.PlainDate[] {
  const days = daysOfMonth.toSorted((a, b) => a - b);
  const before = new Temporal.PlainYearMonth(year, 1).subtract({ months: 1 });
  return Array.from({ length: 14 }, (_, months) => before.add({ months })).flatMap((month) =>
    days.map((day) => month.toPlainDate({ day })),
  );
}

/** Returns the pay dates of a year with what each takes. */
export function proposePayDates(
  year: number,
  rule: PayDateRule,
  { lagDays, frequency, takes }: { lagDays: number; frequency: string; takes: ProposedTakes },
): ProposedDate[] {
  const dates = datesOf(year, rule, lagDays);
  const byMonth = Map.groupBy(dates, ({ pay_date }) => pay_date.slice(0, 'YYYY-MM'.length));
  return dates.map((date) => {
    const month = byMonth.get(date.pay_date.slice(0, 'YYYY-MM'.length)) ?? [];
    const place = month.indexOf(date);
    const first = takes === 'first' ? 1 : (FIRST_OF_MONTH.get(frequency) ?? month.length);
    const isTaking = takes === 'every' || (takes === 'last' ? place === month.length - 1 : place < first);
    return { ...date, takes: isTaking ? 'all' : 'own_period' };
  });
}
