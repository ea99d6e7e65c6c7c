/** The employees of a run: "Who is in it" in docs/payroll-runs.md. Pure. */
import {
  type Employment,
  employerOf,
  isActive,
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

/** Decides by the employer, hire, frequency and group of the period's last day whether an employee is in a run. */
export function membershipOf(employments: readonly Employment[], terms: RunTerms): Membership {
  const { run } = terms;
  const day = run.period_end;
  const employment = employmentAt(employments, run);
  if (employment === undefined) return out('other_employer');
  // An employee who is active with two employers is in the runs of each.
  if (!isActive(employment, day) && employerOf(employments, day) !== run.employer_id)
    return out('other_employer');
  const spell = spellOn(employment, day);
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

/** Reports whether an employee is active with several employers on the last day of a pay period. */
export function hasSeveralEmployers(
  employments: readonly Employment[],
  { period_end }: Pick<Run, 'period_end'>,
): boolean {
  if (employments.length < 2) return false;
  return employments.filter((employment) => isActive(employment, period_end)).length > 1;
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
