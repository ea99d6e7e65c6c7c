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

export type Membership = { isIn: true; employment: Employment } | { isIn: false; why: Reason };

/** Why an employee is not in a run, in the order of the checks. */
export const REASONS = [
  'other_employer',
  'two_employers',
  'terminated',
  'not_hired_yet',
  'unknown_frequency',
  'other_frequency',
  'unknown_pay_group',
  'other_pay_group',
  'not_selected',
] as const;
export type Reason = (typeof REASONS)[number];

/** The reasons for which an employee may belong to the run after all, or is left out of it on purpose. */
export const UNCLEAR = ['two_employers', 'unknown_frequency', 'unknown_pay_group', 'not_selected'] as const;

/** The fields of a run that decide membership, in addition to the facts. */
export type Scope = {
  run: Run;
  /** Null: not narrowed. */
  employees: ReadonlySet<string> | null;
  finalChecks: ReadonlySet<string>;
  /** The employer has at most one pay schedule, so an employee of unknown frequency is in no other. */
  hasOneScheduleAtMost: boolean;
};

/** Decides by the employer, hire, frequency and group of the period's last day whether an employee is in a run. */
export function membershipOf(employments: readonly Employment[], scope: Scope): Membership {
  const { run } = scope;
  const day = run.period_end;
  const employment = employments.find((one) => one.employer_id === run.employer_id);
  if (employment === undefined) return out('other_employer');
  const employer = employerOf(employments, day);
  if (employer === null && isActive(employment, day)) return out('two_employers');
  if (employer !== run.employer_id) return out('other_employer');
  const spell = spellOn(employment, day);
  if (spell === null) return out('not_hired_yet');
  if (isTerminatedBefore(employment, spell, scope)) return out('terminated');
  const frequency = valueOn(employment, 'pay_frequency', day);
  if (frequency === null && !scope.hasOneScheduleAtMost) return out('unknown_frequency');
  if (frequency !== null && frequency !== run.pay_frequency) return out('other_frequency');
  const group = valueOn(employment, 'pay_group', day);
  if (run.pay_group !== null && group !== run.pay_group)
    return out(group === null ? 'unknown_pay_group' : 'other_pay_group');
  if (scope.employees?.has(employeeOf(employment)) === false) return out('not_selected');
  return { isIn: true, employment };
}

/** Reports whether a spell ended before the pay period began and the employee gets no final check in the run. */
export function isTerminatedBefore(
  employment: Employment,
  spell: Spell,
  { run, finalChecks }: Scope,
): boolean {
  const endsOn = spell.termination_date;
  return endsOn !== null && endsOn < run.period_start && !finalChecks.has(employeeOf(employment));
}

/** Reports whether no further paycheck of this employer follows: the employee left and is not to be hired again. */
export function isGone(membership: Membership, employments: readonly Employment[], run: Run): boolean {
  if (membership.isIn || !['terminated', 'other_employer'].includes(membership.why)) return false;
  const spells = employments.find((one) => one.employer_id === run.employer_id)?.spells ?? [];
  return !spells.some(({ hire_date }) => hire_date !== null && hire_date > run.period_end);
}

function employeeOf({ reports }: Employment): string {
  return reports[0]?.employee_id as string;
}

function out(why: Reason): Membership {
  return { isIn: false, why };
}
