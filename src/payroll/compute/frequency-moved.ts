/** The shares of a year that an employee gets with two pay frequencies: "A change of pay frequency" in docs/amounts.md. Pure. */
import { type Employment, valueOn } from '../../ledger/employment.ts';
import type { StoredBasis } from '../records/basis.ts';
import { scheduleOf } from './calendar.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { employmentAt } from './population.ts';
import { wasInRun } from './reopened-runs.ts';
import { isListed } from './shares.ts';

type List = StoredBasis['schedules'][number];
/** The part of a list that an employee is paid by: `count` of its checks. `since`: the end of its first period. */
type YearPart = { list: List; count: number; since: string };
/** `checks`: `33 of 52 weekly and 9 of 26 biweekly checks`. `share`: `51/52 of the year`. */
type SharesOfYear = { checks: string; share: string };

/**
 * Returns the shares of the year if the run is the employee's first one after a change of pay frequency and the shares do
 * not sum to one; else null. A check counts if today's facts give the employee its frequency at the end of its period.
 */
export function sharesAfterMove(computation: Computation, employee: RunEmployee): SharesOfYear | null {
  const { run, basis } = computation;
  const employment = employmentAt(employee.employments, run);
  if (run.kind !== 'regular' || run.scheme !== 'annualized' || run.pay_dates !== null) return null;
  if (employment === undefined || !hasSeveralFrequencies(employment) || !isListed(computation)) return null;
  const parts = basis.schedules.flatMap((list): YearPart[] => {
    const ends = list.period_ends.filter((day) => listOn(employment, basis.schedules, day) === list);
    return ends.length === 0 ? [] : [{ list, count: ends.length, since: ends[0] as string }];
  });
  const movedAfter = lastElsewhere(employment, computation);
  if (movedAfter === null || hasEarlierCheck(computation, employee, movedAfter)) return null;
  const [numerator, denominator] = sumOf(parts);
  if (numerator === denominator) return null;
  parts.sort((one, next) => (one.since < next.since ? -1 : 1));
  const words = parts.map(
    ({ list, count }) => `${count} of ${list.period_ends.length} ${list.pay_frequency}`,
  );
  return {
    checks: `${[words.slice(0, -1).join(', '), words.at(-1)].join(' and ')} checks`,
    share: `${numerator}/${denominator} of the year`,
  };
}

function hasSeveralFrequencies({ reports }: Employment): boolean {
  const first = reports.find(({ pay_frequency }) => pay_frequency !== null);
  return reports.some(
    ({ pay_frequency }) => pay_frequency !== null && pay_frequency !== first?.pay_frequency,
  );
}

/** Returns the list of an employee's frequency and group on a day, or null. */
function listOn(employment: Employment, lists: readonly List[], day: string): List | null {
  const pay_frequency = valueOn(employment, 'pay_frequency', day);
  return scheduleOf({ pay_frequency, pay_group: valueOn(employment, 'pay_group', day) }, lists);
}

/** Returns the end of the last period before the run's that another frequency's list has for the employee, or null. */
function lastElsewhere(employment: Employment, { run, basis: { schedules } }: Computation): string | null {
  const ends = schedules.flatMap((list) =>
    list.pay_frequency === run.pay_frequency
      ? []
      : list.period_ends.filter((day) => day < run.period_end && listOn(employment, schedules, day) === list),
  );
  return ends.sort().at(-1) ?? null;
}

/** Reports whether an earlier check of the run's frequency followed the change. */
function hasEarlierCheck({ run, earlier }: Computation, employee: RunEmployee, movedAfter: string): boolean {
  return earlier.some(
    (check) =>
      !check.isVoided &&
      check.run.kind === 'regular' &&
      check.run.pay_frequency === run.pay_frequency &&
      check.run.period_end > movedAfter &&
      check.run.pay_date < run.pay_date &&
      wasInRun(check, employee),
  );
}

/** Returns the sum of the parts as a fraction in lowest terms. */
function sumOf(parts: readonly YearPart[]): [numerator: number, denominator: number] {
  let [numerator, denominator] = [0, 1];
  for (const { count, list } of parts) {
    const checks = list.period_ends.length;
    [numerator, denominator] = [numerator * checks + count * denominator, denominator * checks];
    const divisor = greatestDivisor(numerator, denominator);
    [numerator, denominator] = [numerator / divisor, denominator / divisor];
  }
  return [numerator, denominator];
}

function greatestDivisor(one: number, next: number): number {
  return next === 0 ? one : greatestDivisor(next, one % next);
}
