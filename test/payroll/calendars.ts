/** Pay dates of a year as employers have them, made with `Date` alone. */
import type { PayFrequency } from '../../src/contract/employee.ts';
import {
  type AmountOptions,
  type Plan,
  type PlannedRun,
  planOf,
  type ScheduledDate,
} from '../../src/payroll/calculation/plan.ts';
import { optionsOf } from '../../src/payroll/settings/policy.ts';

const DAY_MS = 86_400_000;

/** `count` days from a day on, `days` apart. */
export function every(days: number, from: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.parse(from) + index * days * DAY_MS).toISOString().slice(0, 10),
  );
}

/** The pay dates of a year: weekly and biweekly from a day of January on, else in the middle and at the end. */
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

export function plannedRun(given: Partial<PlannedRun> & Partial<AmountOptions> = {}): PlannedRun {
  const run = { kind: 'regular', pay_frequency: 'biweekly', pay_date: '2026-03-27' } as const;
  return { ...run, ...given, ...optionsOf(given) };
}

/** A pay schedule whose periods end on the pay dates. */
export function scheduled(dates: readonly string[] | null): ScheduledDate[] | null {
  return dates?.map((pay_date) => ({ pay_date, period_end: pay_date })) ?? null;
}

/** The plan of a run that can be planned. */
export function plan(given: Partial<PlannedRun> = {}, schedule: readonly string[] | null = null): Plan {
  const planned = planOf(plannedRun(given), scheduled(schedule));
  if (!planned.ok) throw new Error(`${planned.problem.path}: ${planned.problem.rule}`);
  return planned.plan;
}
