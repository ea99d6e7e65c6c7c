/** The regular pay dates of a calendar year: "Pay dates" in docs/payroll-settings.md. Days are YYYY-MM-DD. */
import { Temporal } from 'temporal-polyfill';
import type { PayFrequency } from '../../contract/employee.ts';
import type { Problem } from '../../errors.ts';

/** Periods of a deduction per year (docs/payroll-settings.md). A calendar year may have more or fewer pay dates. */
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

/** The most days of a pay period. */
const PERIOD_DAYS_MAX: Readonly<Record<PayFrequency, number>> = {
  weekly: 14,
  biweekly: 21,
  semimonthly: 22,
  monthly: 45,
};

/** How far the end of a pay period may lie from its pay date: more is a period of another year, or a mistyped one. */
const DAYS_BEFORE_MAX = 62;
const DAYS_AFTER_MAX = 45;

// Written out: a run is verified by its explanations, which must not change with the runtime's locale data.
const MONTH_NAMES = [
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

/** Returns the first problem of the pay dates of a year, in order: they must cover it; null without one. */
export function coverProblem(
  dates: readonly string[],
  year: string,
  frequency: PayFrequency,
  path: string,
): Problem | null {
  const rule = coverRule(dates, year, frequency);
  return rule === null ? null : { path, rule };
}

/** Returns the problems of a pay period: it must not be too long, and must belong to its pay date. `path`: of its end. */
export function periodProblems(
  { pay_date, period_start, period_end }: { pay_date: string; period_start: string; period_end: string },
  frequency: PayFrequency,
  path: string,
): Problem[] {
  if (period_end < period_start) return [{ path, rule: 'must not be before period_start' }];
  const problems: Problem[] = [];
  const length = daysBetween(period_start, period_end) + 1;
  const most = PERIOD_DAYS_MAX[frequency];
  if (length > most)
    problems.push({
      path,
      rule: `must end a ${frequency} pay period of at most ${most} days; this one has ${length}`,
    });
  const days = daysBetween(period_end, pay_date);
  if (days > DAYS_BEFORE_MAX)
    problems.push({ path, rule: `must be at most ${DAYS_BEFORE_MAX} days before pay_date, not ${days}` });
  if (-days > DAYS_AFTER_MAX)
    problems.push({ path, rule: `must be at most ${DAYS_AFTER_MAX} days after pay_date, not ${-days}` });
  return problems;
}

/** Returns the dates of a list just before and just after a day that is not in it. */
export function nearestDates(dates: readonly string[], day: string): string[] {
  const before = dates.findLast((date) => date < day);
  const after = dates.find((date) => date > day);
  return [before, after].filter((date) => date !== undefined);
}

/** Returns a day in words, such as `May 29`, with its year unless it is in `year`. */
export function dayInWords(day: string, year: string): string {
  const [ofYear, month, date] = day.split('-');
  const words = `${MONTH_NAMES[Number(month) - 1]} ${Number(date)}`;
  return ofYear === year ? words : `${words}, ${ofYear}`;
}

/** Returns `September 11, 18 and 25`, with years unless they are that of `day`. Dates are in order. */
export function datesInWords(dates: readonly string[], day: string): string {
  const words = dates.map((date, index) => {
    const before = dates[index - 1];
    const isSameMonth = before?.slice(0, 'YYYY-MM'.length) === date.slice(0, 'YYYY-MM'.length);
    return isSameMonth ? String(Number(date.slice('YYYY-MM-'.length))) : dayInWords(date, yearOf(day));
  });
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(' and ');
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
