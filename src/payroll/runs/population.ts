/** Who is in a run: "Who is in a run" of payroll.md. Pure. */
import {
  type Employment,
  employerOf,
  employmentsOf,
  isActive,
  payFrequencyOn,
  payGroupOn,
  type RosterFact,
  spellOn,
} from '../../ledger/employment.ts';
import type { Run } from './body.ts';

export type Membership =
  | { isIn: true; employment: Employment }
  /**
   * `ambiguous` and `frequency-unknown`: the employee might belong here, and readiness says so. `group-unknown`: is
   * in no run of a pay group, which readiness says too. `gone`: no longer employed here, so that no further paycheck
   * follows. `elsewhere`: has paychecks, in other runs.
   */
  | { isIn: false; why: Reason };

type Reason = 'ambiguous' | 'frequency-unknown' | 'group-unknown' | 'gone' | 'elsewhere';

/** What membership depends on, besides the facts. */
export type Scope = {
  run: Run;
  /** Null: not narrowed. */
  employees: ReadonlySet<string> | null;
  finalChecks: ReadonlySet<string>;
  /** The employer has at most one pay schedule: an employee without a known frequency can be in no other. */
  hasOneScheduleAtMost: boolean;
};

/** Returns whether an employee is in a run. `facts`: all reports of the employee, in the order of their positions. */
export function membershipOf(facts: readonly RosterFact[], scope: Scope): Membership {
  const { run, employees, finalChecks } = scope;
  const day = run.period_end;
  const employments = employmentsOf(facts);
  const own = employments.find((one) => one.employer_id === run.employer_id);
  const employeeId = facts[0]?.employee_id as string;
  if (own === undefined || employees?.has(employeeId) === false) return out('elsewhere');
  const employer = employerOf(employments, day);
  const isTwice = employer === null && isActive(own, day);
  if (employer !== run.employer_id && !isTwice) return out('gone');
  const spell = spellOn(own, day);
  if (spell === null) return out('elsewhere');
  const isOver = spell.termination_date !== null && spell.termination_date < run.period_start;
  if (isOver && !finalChecks.has(employeeId)) return out(spell === own.spells.at(-1) ? 'gone' : 'elsewhere');
  const frequency = payFrequencyOn(own, day);
  if (frequency !== null && frequency !== run.pay_frequency) return out('elsewhere');
  const group = payGroupOn(own, day);
  if (run.pay_group !== null && group !== run.pay_group)
    return out(group === null ? 'group-unknown' : 'elsewhere');
  if (isTwice) return out('ambiguous');
  if (frequency === null && !scope.hasOneScheduleAtMost) return out('frequency-unknown');
  return { isIn: true, employment: own };
}

function out(why: Reason): Membership {
  return { isIn: false, why };
}
