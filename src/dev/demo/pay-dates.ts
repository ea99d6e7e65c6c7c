/** The pay dates of the employers of the demo. */
import type { PayFrequency } from '../../contract/employee.ts';
import { utcDay } from '../../contract/instant.ts';
import type { PayDate } from '../../payroll/settings/schedules.ts';

export type Calendar = {
  /** All pay dates of the year of the two runs: a year is divided among them. */
  payDates: PayDate[];
  /** The pay dates of the two runs, in order. */
  first: PayDate;
  second: PayDate;
};

const DAY_MS = 86_400_000;
const PERIOD_DAYS = { weekly: 7, biweekly: 14 };
/** Days between the end of a weekly or biweekly period and its pay date. */
const PAID_AFTER_DAYS = 5;
const MONTHS = 12;
/** Maximum number of steps in each direction: a year has at most 53 weekly pay dates. */
const MAX_STEPS = 53;

/** Returns the pay dates of the year in which an employer that starts today runs its first two payrolls. */
export function calendarOf(frequency: PayFrequency, today: Date): Calendar {
  return frequency === 'weekly' || frequency === 'biweekly'
    ? calendarByWeeks(today, PERIOD_DAYS[frequency])
    : calendarByMonths(today, frequency === 'monthly' ? wholeMonth : halfMonths);
}

/** The first period ends with the month that `today` is in. The two runs are paid in the month after it. */
function calendarByWeeks(today: Date, days: number): Calendar {
  const end = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 0);
  const dateAt = (step: number): PayDate => {
    const last = end + step * days * DAY_MS;
    return {
      pay_date: dayAt(last + PAID_AFTER_DAYS * DAY_MS),
      period_start: dayAt(last - (days - 1) * DAY_MS),
      period_end: dayAt(last),
      takes: 'all',
    };
  };
  const [first, second] = [dateAt(0), dateAt(1)];
  const year = first.pay_date.slice(0, 4);
  const steps = Array.from({ length: 2 * MAX_STEPS + 1 }, (_, index) => dateAt(index - MAX_STEPS));
  return { payDates: steps.filter((date) => date.pay_date.startsWith(year)), first, second };
}

/**
 * Each period is paid on its last day. The first one ends with the month of `today`, or with January when `today`
 * is in December, because a difference is adjusted only within its tax year.
 */
function calendarByMonths(today: Date, datesOf: (year: number, month: number) => PayDate[]): Calendar {
  const month = today.getUTCMonth();
  const isDecember = month === MONTHS - 1;
  const year = today.getUTCFullYear() + (isDecember ? 1 : 0);
  const payDates = Array.from({ length: MONTHS }, (_, index) => datesOf(year, index)).flat();
  const perMonth = payDates.length / MONTHS;
  const at = ((isDecember ? 0 : month) + 1) * perMonth - 1;
  return { payDates, first: payDates[at] as PayDate, second: payDates[at + 1] as PayDate };
}

function wholeMonth(year: number, month: number): PayDate[] {
  const last = dayAt(Date.UTC(year, month + 1, 0));
  return [{ pay_date: last, period_start: `${last.slice(0, 8)}01`, period_end: last, takes: 'all' }];
}

function halfMonths(year: number, month: number): PayDate[] {
  const last = dayAt(Date.UTC(year, month + 1, 0));
  const start = last.slice(0, 8);
  return [
    { pay_date: `${start}15`, period_start: `${start}01`, period_end: `${start}15`, takes: 'all' },
    { pay_date: last, period_start: `${start}16`, period_end: last, takes: 'all' },
  ];
}

function dayAt(ms: number): string {
  return utcDay(new Date(ms));
}
