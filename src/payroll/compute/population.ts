/** The employees of a run: "Who is in it" in docs/payroll-runs.md. Pure. */
import {
  type Employment,
  employerOf,
  isActive,
  jobsOn,
  type Spell,
  spellOn,
  valueOn,
} from '../../ledger/employment.ts';
import type { Run } from '../records/body.ts';
import type { Reason } from '../records/outcome.ts';
import type { RunTerms } from './terms.ts';

export type Membership = { isIn: true; employment: Employment } | { isIn: false; why: Reason };

/** The reasons for which an employee may belong to the run after all, or is left out of it on purpose. */
export const UNCLEAR = ['unknown_frequency', 'unknown_pay_group', 'not_selected'] as const;

/**
 * Decides by the employer, hire, frequency and group of the period's last day whether an employee is in a run; for a spell
 * that ends in the period, of its last day.
 */
export function membershipOf(employments: readonly Employment[], terms: RunTerms): Membership {
  const { run } = terms;
  const employment = employmentAt(employments, run);
  if (employment === undefined) return out('other_employer');
  const day = lastDayIn(employment, run);
  // An employee who is active with two employers is in the runs of each.
  if (!isActive(employment, day) && employerOf(employments, day) !== run.employer_id)
    return out('other_employer');
  const spell = spellOn(employment, run.period_end);
  if (spell === null) return out('not_hired_yet');
  if (isTerminatedBefore(employment, spell, terms)) return out('terminated');
  const frequency = valueOn(employment, 'pay_frequency', day);
  if (frequency === null && !terms.hasOneScheduleAtMost) return out('unknown_frequency');
  if (frequency !== null && frequency !== run.pay_frequency) return out('other_frequency');
  const group = valueOn(employment, 'pay_group', day);
  if (run.pay_group !== null && group !== run.pay_group)
    return out(group === null ? 'unknown_pay_group' : 'other_pay_group');
  if (terms.employees?.has(employeeOf(employment)) === false) return out('not_selected');
  return { isIn: true, employment };
}

/** Reports whether an employee belongs in a run, whether or not its `employee_ids` name the employee. */
export function belongsIn(employments: readonly Employment[], terms: RunTerms): boolean {
  const membership = membershipOf(employments, terms);
  return membership.isIn || membership.why === 'not_selected';
}

/** Reports whether a spell ended before the pay period began and the employee gets no final check in the run. */
function isTerminatedBefore(employment: Employment, spell: Spell, { run, finalChecks }: RunTerms): boolean {
  const endsOn = spell.termination_date;
  return endsOn !== null && endsOn < run.period_start && !finalChecks.has(employeeOf(employment));
}

/** Reports whether no further paycheck of this employer follows: the employee left and is not to be hired again. */
export function isGone(membership: Membership, employments: readonly Employment[], run: Run): boolean {
  if (membership.isIn || !['terminated', 'other_employer'].includes(membership.why)) return false;
  const spells = employmentAt(employments, run)?.spells ?? [];
  return !spells.some(({ hire_date }) => hire_date !== null && hire_date > run.period_end);
}

/** Returns the last day of a pay period, or that of a spell that ends in it. */
function lastDayIn(employment: Employment, { period_start, period_end }: Period): string {
  const endsOn = spellOn(employment, period_end)?.termination_date ?? null;
  return endsOn !== null && period_start <= endsOn && endsOn < period_end ? endsOn : period_end;
}

type Period = Pick<Run, 'employer_id' | 'period_start' | 'period_end'>;

/** Reports whether an employee has several employers on the last day of a run's pay period, or of a spell that ends in it. */
export function hasSeveralEmployers(employments: readonly Employment[], run: Period): boolean {
  if (employments.length < 2) return false;
  const employment = employmentAt(employments, run);
  return (
    jobsOn(employments, employment === undefined ? run.period_end : lastDayIn(employment, run)).length > 1
  );
}

/**
 * Returns the day on which an employee left the run's employer for a job at another one, if the run's period contains it: the
 * run takes only what had started by then. Null otherwise.
 */
export function leftForAnotherOn(employments: readonly Employment[], run: Period): string | null {
  if (employments.length < 2) return null;
  const employment = employmentAt(employments, run);
  const endsOn =
    employment === undefined ? null : (spellOn(employment, run.period_end)?.termination_date ?? null);
  if (endsOn === null || endsOn < run.period_start || endsOn > run.period_end) return null;
  const hasNext = employments.some(
    (other) =>
      other !== employment &&
      other.spells.some(({ termination_date }) => termination_date === null || termination_date > endsOn),
  );
  return hasNext ? endsOn : null;
}

/** Returns the employment with a run's employer. */
export function employmentAt(
  employments: readonly Employment[],
  { employer_id }: Pick<Run, 'employer_id'>,
): Employment | undefined {
  return employments.find((employment) => employment.employer_id === employer_id);
}

function employeeOf({ reports }: Employment): string {
  return reports[0]?.employee_id as string;
}

function out(why: Reason): Membership {
  return { isIn: false, why };
}
