/** Why a deduction of the previous run has nothing to take, in words that can be read to the employee. Pure. */
import { type Employment, employerOf, spellOn, valueOn, valueSince } from '../../ledger/employment.ts';
import { stateOn } from '../../ledger/state.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { assignedIn, stateFor } from './history.ts';
import type { RunTerms } from './terms.ts';

export type WhyStopped = { change: 'ended' | 'moved'; reason: string };

/** Words with the day since or until which they hold, if it is known. */
type Dated = { words: string; preposition?: string; day?: string | null | undefined };
type Why = Dated & { change: WhyStopped['change'] };

/**
 * Returns whether a deduction ended or moved, and why: `coverage ended June 30`. Null while it must be assigned to one of
 * the employee's two employers, because until then it is unknown whether it stops.
 */
export function whyStopped(
  computation: Computation,
  employee: RunEmployee,
  deductionId: string,
): WhyStopped | null {
  const why = whyIn(computation, employee, deductionId);
  if (why === null) return null;
  const { change, words, preposition, day } = why;
  if (day == null) return { change, reason: words };
  const since = computation.dayInWords(day);
  return {
    change,
    reason: preposition === undefined ? `${words} ${since}` : `${words} ${preposition} ${since}`,
  };
}

function whyIn(terms: RunTerms, employee: RunEmployee, deductionId: string): Why | null {
  const { run } = terms;
  const { membership, employments, employment, termination, hasSeveralEmployers } = employee;
  const assigned = assignedEmployer(terms, employee, deductionId);
  if (assigned === null && membership.isIn && hasSeveralEmployers) return null;
  if (assigned != null && assigned !== run.employer_id)
    return { change: 'moved', words: 'assigned to another employer' };
  const ended: Why = { change: 'ended', words: 'employment ended', day: termination };
  // No share remains for a final check, though the deduction is in effect.
  if (membership.isIn && assigned !== undefined) return ended;
  if (membership.isIn || employment === undefined)
    return { change: 'ended', ...whyNotInEffect(terms, employee, deductionId) };
  const day = run.period_end;
  const since = (attribute: 'pay_frequency' | 'pay_group', words: string): Why => ({
    change: 'moved',
    words: `${words} ${valueOn(employment, attribute, day)}`,
    preposition: 'from',
    day: valueSince(employment, attribute, day),
  });
  switch (membership.why) {
    case 'other_frequency':
      return since('pay_frequency', 'paid');
    case 'other_pay_group':
      return since('pay_group', 'in pay group');
    case 'other_employer': {
      const hired = hiredElsewhereOn(employments, day);
      return { change: 'moved', words: 'with another employer', preposition: 'from', day: hired };
    }
    case 'not_hired_yet':
      return { change: 'ended', words: 'not hired', preposition: 'until', day: nextHireOf(employment, day) };
    default:
      return ended;
  }
}

/** Returns the employer of a deduction in effect on the day of a run. Undefined if it is not in effect; null if unassigned. */
function assignedEmployer(
  { run, day }: RunTerms,
  { employeeId, histories }: RunEmployee,
  deductionId: string,
) {
  const history = histories.find((candidate) => candidate.deductionId === deductionId);
  const isInEffect = history !== undefined && stateFor(history, employeeId, day) !== null;
  return isInEffect ? assignedIn(history, run) : undefined;
}

/** Returns why a deduction is not in effect on the day of a run. */
function whyNotInEffect(
  { day }: RunTerms,
  { employeeId, histories }: RunEmployee,
  deductionId: string,
): Dated {
  const counting = histories.find((history) => history.deductionId === deductionId)?.timeline.counting ?? [];
  const state = stateOn(counting, day);
  if (state === null) {
    const starts = counting.flatMap(({ starts_on }) => starts_on ?? []).sort();
    return { words: 'coverage starts', day: starts[0] };
  }
  return state.employee_id === employeeId
    ? { words: 'coverage ended', day: state.ends_on }
    : { words: 'coverage is another employee’s', preposition: 'from', day: state.starts_on };
}

function hiredElsewhereOn(employments: readonly Employment[], day: string): string | null {
  const employer = employerOf(employments, day);
  const elsewhere = employments.find(({ employer_id }) => employer_id === employer);
  return elsewhere === undefined ? null : (spellOn(elsewhere, day)?.hire_date ?? null);
}

function nextHireOf({ spells }: Employment, day: string): string | null | undefined {
  return spells.find(({ hire_date }) => hire_date !== null && hire_date > day)?.hire_date;
}
