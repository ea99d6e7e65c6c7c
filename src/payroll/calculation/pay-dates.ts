/** The regular pay dates of a calendar year: "Pay dates" in docs/amounts.md. Days are YYYY-MM-DD. */
import { Temporal } from 'temporal-polyfill';
import type { PayFrequency } from '../../contract/employee.ts';
import { isDay } from '../../contract/instant.ts';
import type { Problem } from '../../errors.ts';

/** Periods of a deduction per year (docs/amounts.md). The number of pay dates that a calendar year really has is in the run's own calendar. */
export const PERIODS_PER_YEAR: Readonly<Record<PayFrequency, number>> = {
  monthly: 12,
  semimonthly: 24,
  biweekly: 26,
  weekly: 52,
};

/**
 * How many more or fewer pay dates than periods a year may have: bank holidays at New Year move one in or
 * out.
 */
const DATES_MOVED_MAX = 1;

/**
 * The most days from one pay date to the next. A longer time is closer to two periods than to one, so a date
 * is missing and was not just moved by a bank holiday.
 */
const DAYS_BETWEEN_MAX: Readonly<Record<PayFrequency, number>> = {
  weekly: 10,
  biweekly: 21,
  semimonthly: 22,
  monthly: 45,
};

/**
 * The days between pay dates. The other frequencies have no fixed step, so their dates are unknown without a
 * list.
 */
const STEP_DAYS: Readonly<Partial<Record<PayFrequency, number>>> = { weekly: 7, biweekly: 14 };

export const MONTH_NAMES = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

export const REAL_DAY_RULE = 'must be a real date, YYYY-MM-DD';

/**
 * Returns the first problem of a list of the pay dates of one year, or null: each must be a day of the year,
 * later than the one before, and together they must cover the year.
 *
 * @param path names the list in the problem
 */
export function listProblem(
  dates: readonly string[],
  year: string,
  frequency: PayFrequency,
  path: string,
): Problem | null {
  for (const [index, date] of dates.entries()) {
    const rule = dateRule(date, year, dates[index - 1]);
    if (rule !== null) return { path: `${path}[${index}]`, rule };
  }
  const rule = coverRule(dates, year, frequency);
  return rule === null ? null : { path, rule };
}

/** Returns the first month of the year that has none of the dates; null if every month has one. */
export function monthWithoutDate(dates: readonly string[]): string | null {
  const months = new Set(dates.map((date) => Number(date.slice('YYYY-'.length, 'YYYY-MM'.length))));
  return MONTH_NAMES.find((_, index) => !months.has(index + 1)) ?? null;
}

/** Returns the dates of a list just before and just after a day that is not in it. */
export function nearestDates(dates: readonly string[], day: string): string[] {
  const before = dates.findLast((date) => date < day);
  const after = dates.find((date) => date > day);
  return [before, after].filter((date) => date !== undefined);
}

/**
 * Returns the dates of the day's year in fixed steps from the day; null for a frequency without a fixed step.
 */
export function steppedDates(day: string, frequency: PayFrequency): string[] | null {
  const days = STEP_DAYS[frequency];
  if (days === undefined) return null;
  const from = Temporal.PlainDate.from(day);
  const before: string[] = [];
  for (let date = from.subtract({ days }); date.year === from.year; date = date.subtract({ days })) {
    before.unshift(date.toString());
  }
  const after: string[] = [];
  for (let date = from.add({ days }); date.year === from.year; date = date.add({ days })) {
    after.push(date.toString());
  }
  return [...before, day, ...after];
}

export function yearOf(day: string): string {
  return day.slice(0, 'YYYY'.length);
}

function dateRule(date: string, year: string, before: string | undefined): string | null {
  if (!isDay(date)) return REAL_DAY_RULE;
  if (yearOf(date) !== year) return `must be in ${year}, the year of the pay date`;
  if (before !== undefined && date <= before) return 'must be later than the date before it';
  return null;
}

function coverRule(dates: readonly string[], year: string, frequency: PayFrequency): string | null {
  const periods = PERIODS_PER_YEAR[frequency];
  if (Math.abs(dates.length - periods) > DATES_MOVED_MAX) {
    const [fewest, most] = [periods - DATES_MOVED_MAX, periods + DATES_MOVED_MAX];
    return `must cover ${year}: ${fewest} to ${most} ${frequency} pay dates, not ${dates.length}`;
  }
  const ends = [`${year}-01-01`, ...dates, `${year}-12-31`].map((day) => Temporal.PlainDate.from(day));
  for (const [index, date] of ends.entries()) {
    const next = ends[index + 1];
    if (next !== undefined && date.until(next).days > DAYS_BETWEEN_MAX[frequency]) {
      return `must cover ${year}: there is no ${frequency} pay date between ${date} and ${next}`;
    }
  }
  return null;
}
