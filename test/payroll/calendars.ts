/** Typical pay dates of a year, computed with `Date` alone. */
import type { PayFrequency } from '../../src/contract/employee.ts';
import { amountOf } from '../../src/money.ts';
import { type Contribution, calculator } from '../../src/payroll/calculation/amounts.ts';
import {
  type Plan,
  type PlannedRun,
  planOf,
  type ScheduledDate,
} from '../../src/payroll/calculation/plan.ts';
import { DEFAULTS } from '../../src/payroll/settings/policy.ts';

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
  const run = { kind: 'regular', pay_frequency: 'biweekly', pay_date: '2026-03-27' } as const;
  return { ...DEFAULTS, ...run, ...given };
}

/** Returns a pay schedule whose periods end on the pay dates. */
export function scheduled(dates: readonly string[] | null): ScheduledDate[] | null {
  return dates?.map((pay_date) => ({ pay_date, period_end: pay_date })) ?? null;
}

export function plan(given: Partial<PlannedRun> = {}, schedule: readonly string[] | null = null): Plan {
  const planned = planOf(plannedRun(given), scheduled(schedule));
  if (!planned.ok) throw new Error(`${planned.problem.path}: ${planned.problem.rule}`);
  return planned.plan;
}

export function amountTexts(of: Plan, given: Contribution) {
  const { member_amount, employer_amount, ...working } = calculator(of)(given);
  return { ...working, member_amount: amountOf(member_amount), employer_amount: amountOf(employer_amount) };
}
