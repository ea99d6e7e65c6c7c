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

type Period = Pick<Run, 'employer_id' | 'period_start' | 'period_end'>;

export function jobOf(employments: readonly Employment[], terms: RunTerms): Job {
  const employed = employedIn(employments, terms.run);
  const { employment, termination, leftInPeriod, lastDay } = employed;
  const isAlone = employments.length < 2;
  const membership = membershipOf(employments, employed, terms);
  return {
    membership,
    belongs: membership.isIn || membership.why === 'not_selected',
    employment,
    termination,
    hasSeveralEmployers: !isAlone && jobsOn(employments, lastDay).length > 1,
    leftForAnotherOn:
      !isAlone && leftInPeriod !== null && hasLaterJob(employments, employment, leftInPeriod)
        ? leftInPeriod
        : null,
  };
}

/**
 * The employment with the employer of a pay period. `lastDay`: of the period, or of a spell that ends in it. It decides the
 * employer, the frequency and the group.
 */
type Employed = {
  employment: Employment | undefined;
  spell: Spell | null;
  termination: string | null;
  /** The termination, if it lies in the period. */
  leftInPeriod: string | null;
  lastDay: string;
};

function employedIn(
  employments: readonly Employment[],
  { employer_id, period_start, period_end }: Period,
): Employed {
  const employment = employmentAt(employments, { employer_id });
  const spell = employment === undefined ? null : spellOn(employment, period_end);
  const termination = spell?.termination_date ?? null;
  const endsInPeriod = termination !== null && period_start <= termination && termination <= period_end;
  const leftInPeriod = endsInPeriod ? termination : null;
  return { employment, spell, termination, leftInPeriod, lastDay: leftInPeriod ?? period_end };
}

/** Returns why the employer does not pay an employee in a pay period; null if it does, perhaps in another run. */
function whyNotPaid(
  employments: readonly Employment[],
  { employment, spell, lastDay }: Employed,
  { employer_id, period_start }: Period,
  finalChecks: ReadonlySet<string>,
): Reason | null {
  if (employment === undefined) return 'other_employer';
  // An employee who is active with two employers is in the runs of each.
  if (!isActive(employment, lastDay) && employerOf(employments, lastDay) !== employer_id)
    return 'other_employer';
  if (spell === null) return 'not_hired_yet';
  const { termination_date } = spell;
  const isOver = termination_date !== null && termination_date < period_start;
  return isOver && !finalChecks.has(idOf(employment)) ? 'terminated' : null;
}

/** Decides whether an employee is in a run. */
function membershipOf(
  employments: readonly Employment[],
  employed: Employed,
  { run, finalChecks, hasOneScheduleAtMost, employees }: RunTerms,
): Membership {
  const why = whyNotPaid(employments, employed, run, finalChecks);
  if (why !== null) return out(why);
  const employment = employed.employment as Employment;
  const day = employed.lastDay;
  const frequency = valueOn(employment, 'pay_frequency', day);
  if (frequency === null && !hasOneScheduleAtMost) return out('unknown_frequency');
  if (frequency !== null && frequency !== run.pay_frequency) return out('other_frequency');
  const group = valueOn(employment, 'pay_group', day);
  if (run.pay_group !== null && group !== run.pay_group)
    return out(group === null ? 'unknown_pay_group' : 'other_pay_group');
  if (employees?.has(idOf(employment)) === false) return out('not_selected');
  return { isIn: true, employment };
}

function hasLaterJob(
  employments: readonly Employment[],
  employment: Employment | undefined,
  day: string,
): boolean {
  return employments.some((job) => job !== employment && lastsAfter(job, day));
}

/** Reports whether an employment has days after a day. */
export function lastsAfter({ spells }: Employment, day: string): boolean {
  return spells.some(({ termination_date }) => termination_date === null || termination_date > day);
}

/** Reports whether an employer's pay period has the last check of an employee who left on a day: no rehire follows in the period. */
export function paysUntil(employments: readonly Employment[], period: Period, day: string): boolean {
  const employed = employedIn(employments, period);
  return employed.leftInPeriod === day && whyNotPaid(employments, employed, period, new Set()) === null;
}

/** Reports whether no further paycheck of the employer follows: the employee left and is not to be hired again. */
export function isGone(
  employments: readonly Employment[],
  { payday, finalChecks }: { payday: Period; finalChecks: ReadonlySet<string> },
): boolean {
  const employed = employedIn(employments, payday);
  const why = whyNotPaid(employments, employed, payday, finalChecks);
  if (why !== 'terminated' && why !== 'other_employer') return false;
  const spells = employed.employment?.spells ?? [];
  return !spells.some(({ hire_date }) => hire_date !== null && hire_date > payday.period_end);
}

function idOf({ reports }: Employment): string {
  return reports[0]?.employee_id as string;
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
