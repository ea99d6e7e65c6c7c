/** A change of pay frequency or employer within the year: "A change of pay frequency" in docs/amounts.md. Pure. */
import { type Employment, isInSpell, spellOn, valueOn, valueSince } from '../../ledger/employment.ts';
import { dayBefore } from '../../ledger/state.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import type { Computation, RunEmployee } from '../compute/computation.ts';
import { wasInRun } from '../compute/reopened-runs.ts';

/**
 * Returns the day of the year on which an employee of the run came from another pay frequency or employer, if the run is the
 * first one since; else null.
 */
export function movedOn({ run, earlier }: Computation, employee: RunEmployee): string | null {
  const { membership, employment } = employee;
  if (run.kind !== 'regular' || !membership.isIn || employment === undefined) return null;
  const days = [
    frequencySince(employment, run.period_end),
    employerSince(employment, employee, run.period_end),
  ];
  const moved = days
    .flatMap((day) => day ?? [])
    .sort()
    .at(-1);
  if (moved === undefined || yearOf(moved) !== yearOf(run.pay_date)) return null;
  const hasRunSince = earlier.some(
    (check) =>
      !check.isVoided &&
      check.run.kind === 'regular' &&
      check.run.pay_frequency === run.pay_frequency &&
      check.run.period_end >= moved &&
      check.run.pay_date < run.pay_date &&
      wasInRun(check, employee),
  );
  return hasRunSince ? null : moved;
}

function frequencySince(employment: Employment, day: string): string | null {
  // Most employees have one report.
  if (employment.reports.length < 2) return null;
  const since = valueSince(employment, 'pay_frequency', day);
  if (since === null) return null;
  const [now, before] = [day, dayBefore(since)].map((date) => valueOn(employment, 'pay_frequency', date));
  return now === before ? null : since;
}

/** Returns the hire of an employee who had another employer until then. */
function employerSince(employment: Employment, { employments }: RunEmployee, day: string): string | null {
  const hired = spellOn(employment, day)?.hire_date ?? null;
  if (hired === null) return null;
  const isElsewhere = (other: Employment): boolean =>
    other !== employment &&
    !isInSpell(other, day) &&
    other.spells.some(
      ({ termination_date }) => termination_date !== null && yearOf(termination_date) === yearOf(hired),
    );
  return employments.some(isElsewhere) ? hired : null;
}
