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

/** What a run needs to know about an employee's employments. It is computed once and passed on instead of them. */
export type Job = {
  membership: Membership;
  /** The employee is in the run, or would be if its `employee_ids` did not leave the employee out. */
  belongs: boolean;
  /** The employment with the run's employer. */
  employment: Employment | undefined;
  /** No further paycheck of this employer follows: the employee left and is not to be hired again. */
  isGone: boolean;
  /** The last day of employment in the spell of the run's period; null if it has not ended. */
  termination: string | null;
  /** The employee has several on the last day of the pay period, or of a spell that ends in it. */
  hasSeveralEmployers: boolean;
  /**
   * The day on which the employee left the run's employer for a job at another one, if the run's period contains it: the run
   * takes only what had started by then. Else null.
   */
  leftForAnotherOn: string | null;
};

export function jobOf(employments: readonly Employment[], terms: RunTerms): Job {
  const { run } = terms;
  const employment = employmentAt(employments, run);
  const spell = employment === undefined ? null : spellOn(employment, run.period_end);
  const termination = spell?.termination_date ?? null;
  const endsInPeriod =
    termination !== null && run.period_start <= termination && termination <= run.period_end;
  const lastDay = endsInPeriod ? termination : run.period_end;
  const isAlone = employments.length < 2;
  const membership = membershipOf(employments, employment, spell, lastDay, terms);
  return {
    membership,
    belongs: membership.isIn || membership.why === 'not_selected',
    employment,
    isGone: isGone(membership, employment, run),
    termination,
    hasSeveralEmployers: !isAlone && jobsOn(employments, lastDay).length > 1,
    leftForAnotherOn:
      !isAlone && endsInPeriod && hasLaterJob(employments, employment, termination) ? termination : null,
  };
}

/**
 * Decides by the employer, hire, frequency and group of the period's last day whether an employee is in a run; for a spell
 * that ends in the period, of its last day.
 */
function membershipOf(
  employments: readonly Employment[],
  employment: Employment | undefined,
  spell: Spell | null,
  day: string,
  terms: RunTerms,
): Membership {
  const { run } = terms;
  if (employment === undefined) return out('other_employer');
  // An employee who is active with two employers is in the runs of each.
  if (!isActive(employment, day) && employerOf(employments, day) !== run.employer_id)
    return out('other_employer');
  if (spell === null) return out('not_hired_yet');
  const employeeId = employment.reports[0]?.employee_id as string;
  const endsOn = spell.termination_date;
  if (endsOn !== null && endsOn < run.period_start && !terms.finalChecks.has(employeeId))
    return out('terminated');
  const frequency = valueOn(employment, 'pay_frequency', day);
  if (frequency === null && !terms.hasOneScheduleAtMost) return out('unknown_frequency');
  if (frequency !== null && frequency !== run.pay_frequency) return out('other_frequency');
  const group = valueOn(employment, 'pay_group', day);
  if (run.pay_group !== null && group !== run.pay_group)
    return out(group === null ? 'unknown_pay_group' : 'other_pay_group');
  if (terms.employees?.has(employeeId) === false) return out('not_selected');
  return { isIn: true, employment };
}

function hasLaterJob(
  employments: readonly Employment[],
  employment: Employment | undefined,
  day: string,
): boolean {
  return employments.some(
    (other) =>
      other !== employment &&
      other.spells.some(({ termination_date }) => termination_date === null || termination_date > day),
  );
}

function isGone(membership: Membership, employment: Employment | undefined, { period_end }: Run): boolean {
  if (membership.isIn || !['terminated', 'other_employer'].includes(membership.why)) return false;
  const spells = employment?.spells ?? [];
  return !spells.some(({ hire_date }) => hire_date !== null && hire_date > period_end);
}

/** Returns the employment with a run's employer. */
export function employmentAt(
  employments: readonly Employment[],
  { employer_id }: Pick<Run, 'employer_id'>,
): Employment | undefined {
  return employments.find((employment) => employment.employer_id === employer_id);
}

function out(why: Reason): Membership {
  return { isIn: false, why };
}
