/** Who is in a run: "Who is in a run" of payroll.md. Pure. */
import { employerOf, isActive, type RosterFact } from '../../ledger/employer-of.ts';
import type { Run } from './body.ts';

export type Membership =
  | { isIn: true; fact: RosterFact }
  /**
   * `ambiguous` and `frequency-unknown`: the employee might belong here, and readiness says so. `group-unknown`: is
   * in no run of a pay group, which readiness says too. `gone`: no longer employed here, so that no further paycheck
   * follows. `elsewhere`: has paychecks, in other runs.
   */
  | { isIn: false; why: Reason };

type Reason = 'ambiguous' | 'frequency-unknown' | 'group-unknown' | 'gone' | 'elsewhere';

/** What membership is decided by, besides the facts. */
export type Scope = {
  run: Run;
  /** Null: not narrowed. */
  employees: ReadonlySet<string> | null;
  finalChecks: ReadonlySet<string>;
  /** The employer has at most one pay schedule: an employee without a known frequency can be in no other. */
  hasOneScheduleAtMost: boolean;
};

/** Whether an employee is in a run, by the newest fact known with every employer. */
export function membershipOf(facts: readonly RosterFact[], scope: Scope): Membership {
  const { run } = scope;
  const day = run.period_end;
  const fact = facts.find((one) => one.employer_id === run.employer_id);
  if (fact === undefined || scope.employees?.has(fact.employee_id) === false) return out('elsewhere');
  const employer = employerOf(facts, day);
  const isTwice = employer === null && isActive(fact, day);
  if (employer !== run.employer_id && !isTwice) return out('gone');
  const termination = terminationOn(fact, day);
  if (termination === null && isHiredAfter(fact, day)) return out('elsewhere');
  if (termination !== null && termination < run.period_start && !scope.finalChecks.has(fact.employee_id))
    return out(isHiredAfter(fact, day) ? 'elsewhere' : 'gone');
  if (fact.pay_frequency !== null && fact.pay_frequency !== run.pay_frequency) return out('elsewhere');
  if (run.pay_group !== null && fact.pay_group !== run.pay_group)
    return out(fact.pay_group === null ? 'group-unknown' : 'elsewhere');
  if (isTwice) return out('ambiguous');
  if (fact.pay_frequency === null && !scope.hasOneScheduleAtMost) return out('frequency-unknown');
  return { isIn: true, fact };
}

/**
 * The day of the termination that ends the spell of a day, or the one before it. Null without one: none is known, or
 * who was hired again has begun anew, or the whole spell is yet to come.
 */
export function terminationOn({ hire_date, termination_date }: RosterFact, day: string): string | null {
  if (termination_date === null || hire_date === null) return termination_date;
  const isHired = hire_date <= day;
  const isOfThisSpell = termination_date >= hire_date;
  return isHired === isOfThisSpell ? termination_date : null;
}

function isHiredAfter({ hire_date }: RosterFact, day: string): boolean {
  return hire_date !== null && hire_date > day;
}

function out(why: Reason): Membership {
  return { isIn: false, why };
}
