/** The regular pay dates of a calendar year: "Pay dates" in docs/amounts.md. Days are YYYY-MM-DD. */
import { Temporal } from 'temporal-polyfill';
import type { PayFrequency } from '../../contract/employee.ts';
import { isDay } from '../../contract/instant.ts';
import type { Problem } from '../../errors.ts';

/** Periods of a deduction per year (docs/amounts.md). A calendar year may have more or fewer pay dates. */
export const PERIODS_PER_YEAR: Readonly<Record<PayFrequency, number>> = {
  monthly: 12,
  semimonthly: 24,
  biweekly: 26,
  weekly: 52,
};

/** Pay dates that a year may have more or fewer than periods: bank holidays at New Year move one in or out. */
const DATES_MOVED_MAX = 1;

/** The most days between pay dates. More is closer to two periods than to one, so a date is missing. */
const DAYS_BETWEEN_MAX: Readonly<Record<PayFrequency, number>> = {
  weekly: 10,
  biweekly: 21,
  semimonthly: 22,
  monthly: 45,
};

/** The days between pay dates. The other frequencies have no fixed step, so without a list their dates are unknown. */
const STEP_DAYS: Readonly<Partial<Record<PayFrequency, number>>> = { weekly: 7, biweekly: 14 };

// Written out: a run is verified by its explanations, which must not change with the runtime's locale data.
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
];

export const REAL_DAY_RULE = 'must be a real date, YYYY-MM-DD';

/** Returns the first problem of a list, or null: its dates must rise, be in the year, and cover it. */
export function listProblem(
  dates: readonly string[],
  year: string,
  frequency: PayFrequency,
  path: string,
): Problem | null {
  for (const [index, date] of dates.entries()) {
    const before = dates[index - 1];
    const at = `${path}[${index}]`;
    if (!isDay(date)) return { path: at, rule: REAL_DAY_RULE };
    if (yearOf(date) !== year) return { path: at, rule: `must be in ${year}, the year of the pay date` };
    if (before !== undefined && date <= before)
      return { path: at, rule: 'must be later than the date before it' };
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

/** Returns the dates of the day's year in fixed steps from the day; null for a frequency without a fixed step. */
export function steppedDates(day: string, frequency: PayFrequency): string[] | null {
  const days = STEP_DAYS[frequency];
  if (days === undefined) return null;
  const start = Temporal.PlainDate.from(day);
  let date = start.subtract({ days: days * Math.floor((start.dayOfYear - 1) / days) });
  const dates: string[] = [];
  for (; date.year === start.year; date = date.add({ days })) dates.push(date.toString());
  return dates;
}

/** Returns a day in words, such as `May 29`, with its year unless it is in `year`. */
export function dayInWords(day: string, year: string): string {
  const [ofYear, month, date] = day.split('-');
  const words = `${MONTH_NAMES[Number(month) - 1]} ${Number(date)}`;
  return ofYear === year ? words : `${words}, ${ofYear}`;
}

/** Returns the year before a year of four digits. */
export function yearBefore(year: string): string {
  return String(Number(year) - 1).padStart(4, '0');
}

export function yearOf(day: string): string {
  return day.slice(0, 'YYYY'.length);
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

const DAY_MS = 86_400_000;

/** Returns the number of days from a date to another one; negative if it is earlier. */
export function daysBetween(day: string, other: string): number {
  return (Date.parse(other) - Date.parse(day)) / DAY_MS;
}
