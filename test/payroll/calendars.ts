/** Typical pay dates of a year, computed with `Date` alone. */
import type { PayFrequency } from '../../src/contract/employee.ts';
import { amountOf } from '../../src/money.ts';
import { type Contribution, calculator } from '../../src/payroll/calculation/amounts.ts';
import {
  calendarOf,
  type RanDate,
  type Takes,
  type YearList,
} from '../../src/payroll/calculation/calendar.ts';
import { type Plan, type PlannedRun, planOf } from '../../src/payroll/calculation/plan.ts';

const DAY_MS = 86_400_000;

/** Returns `count` days from a day on, `days` apart. */
export function every(days: number, from: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.parse(from) + index * days * DAY_MS).toISOString().slice(0, 10),
  );
}

/** Returns the pay dates of a year: weekly and biweekly ones from a day in January, others mid-month and at its end. */
export function yearOfDates(frequency: PayFrequency, year: number, first = 1): string[] {
  if (frequency === 'weekly' || frequency === 'biweekly') {
    const from = `${year}-01-${String(first).padStart(2, '0')}`;
    return every(frequency === 'weekly' ? 7 : 14, from, 53).filter((date) => date.startsWith(`${year}-`));
  }
  return Array.from({ length: 12 }, (_, month) => {
    const middle = new Date(Date.UTC(year, month, 15)).toISOString().slice(0, 10);
    const end = new Date(Date.UTC(year, month + 1, 0)).toISOString().slice(0, 10);
    return frequency === 'monthly' ? [end] : [middle, end];
  }).flat();
}

export function plannedRun(given: Partial<PlannedRun> = {}): PlannedRun {
  return {
    kind: 'regular',
    pay_frequency: 'biweekly',
    pay_date: '2026-03-27',
    applies_on: 'pay_date',
    ...given,
  };
}

/** A list of pay dates whose periods end on them. `takes`: of single dates; the others take all. */
export function listOf(
  dates: readonly string[],
  takes: Readonly<Record<string, Takes>> = {},
  year_in_fewer_checks = false,
): YearList {
  const pay_dates = dates.map((pay_date) => ({
    ...{ pay_date, period_end: pay_date },
    takes: takes[pay_date] ?? 'all',
  }));
  return { year_in_fewer_checks, pay_dates };
}

/** Plans a run on a list of pay dates; null: without a list. `ran`: the finalized runs of the year. */
export function plan(
  given: Partial<PlannedRun> = {},
  list: YearList | null = null,
  ran: readonly RanDate[] = [],
): Plan {
  const run = plannedRun(given);
  return planOf(run, list === null ? null : calendarOf(list, run.pay_frequency, ran));
}

/** Returns the finalized runs of dates, each planned on the list of its time and after the runs before it. */
export function ranOn(
  frequency: PayFrequency,
  dates: readonly string[],
  listOfDate: (date: string) => YearList | null,
  before: readonly RanDate[] = [],
): RanDate[] {
  const ran = [...before];
  for (const pay_date of dates) {
    const list = listOfDate(pay_date);
    ran.push({ pay_date, calendar: list === null ? null : calendarOf(list, frequency, ran) });
  }
  return ran;
}

export function amountTexts(of: Plan, given: Contribution) {
  const { member_amount, employer_amount, ...working } = calculator(of)(given);
  return { ...working, member_amount: amountOf(member_amount), employer_amount: amountOf(employer_amount) };
}
