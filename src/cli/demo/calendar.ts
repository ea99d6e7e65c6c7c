/** The pay dates of the demo's employers. Pure. */
import type { PayDate } from '../../payroll/runs/settings.ts';

export type Calendar = {
  /** All of the year that the two runs are in: a share of a year is counted in them. */
  payDates: PayDate[];
  /** Those of the two runs, one after the other. */
  first: PayDate;
  second: PayDate;
};

const DAY_MS = 86_400_000;
const TWO_WEEKS = 14;
/** A biweekly paycheck comes this many days after its period. */
const PAID_AFTER_DAYS = 5;
const MONTHS = 12;

/** Two weeks each; the first period ends with the month that `today` is in. Both are paid in the month after it. */
export function biweeklyCalendar(today: Date): Calendar {
  const end = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 0);
  const first = biweekly(end);
  const second = biweekly(end + TWO_WEEKS * DAY_MS);
  const year = first.pay_date.slice(0, 4);
  const payDates: PayDate[] = [];
  // More steps both ways than a year has.
  for (let step = -MAX_STEPS; step <= MAX_STEPS; step += 1) {
    const date = biweekly(end + step * TWO_WEEKS * DAY_MS);
    if (date.pay_date.startsWith(year)) payDates.push(date);
  }
  return { payDates, first, second };
}

const MAX_STEPS = 27;

function biweekly(end: number): PayDate {
  return {
    pay_date: dayAt(end + PAID_AFTER_DAYS * DAY_MS),
    period_start: dayAt(end - (TWO_WEEKS - 1) * DAY_MS),
    period_end: dayAt(end),
  };
}

/**
 * A month each, paid on its last day. The first is the month that `today` is in; in December, the January after it: a
 * difference of another tax year is not settled with a paycheck.
 */
export function monthlyCalendar(today: Date): Calendar {
  const month = today.getUTCMonth();
  const isDecember = month === MONTHS - 1;
  const year = today.getUTCFullYear() + (isDecember ? 1 : 0);
  const payDates = Array.from({ length: MONTHS }, (_, index) => monthly(year, index));
  const at = isDecember ? 0 : month;
  return { payDates, first: payDates[at] as PayDate, second: payDates[at + 1] as PayDate };
}

function monthly(year: number, month: number): PayDate {
  const last = dayAt(Date.UTC(year, month + 1, 0));
  return { pay_date: last, period_start: `${last.slice(0, 8)}01`, period_end: last };
}

function dayAt(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
