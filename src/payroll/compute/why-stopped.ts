/** Why a deduction of the previous run has nothing to take, in words that can be read to the employee. Pure. */
import { type Employment, employerOf, spellOn, valueOn, valueSince } from '../../ledger/employment.ts';
import { stateOn } from '../../ledger/state.ts';
import { dayInWords, yearOf } from '../calculation/pay-dates.ts';
import { dayOfRun, type Run } from '../records/body.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { assignedIn, stateFor } from './history.ts';
import { employmentAt, hasSeveralEmployers } from './population.ts';

export type WhyStopped = { change: 'ended' | 'moved'; reason: string };

/**
 * Returns whether a deduction ended or moved, and why: `coverage ended June 30`. Null while it must be assigned to one of
 * the employee's two employers, because until then it is unknown whether it stops.
 */
export function whyStopped(
  { run }: Computation,
  employee: RunEmployee,
  deductionId: string,
): WhyStopped | null {
  const { membership, employments } = employee;
  const assigned = assignedEmployer(run, employee, deductionId);
  if (assigned === null && membership.isIn && hasSeveralEmployers(employments, run)) return null;
  if (assigned != null && assigned !== run.employer_id)
    return { change: 'moved', reason: 'assigned to another employer' };
  const employment = employmentAt(employments, run);
  const day = run.period_end;
  const ended = (at: Employment): WhyStopped => ({
    change: 'ended',
    reason: dated(run, 'employment ended', spellOn(at, day)?.termination_date),
  });
  // No share remains for a final check, though the deduction is in effect.
  if (membership.isIn && assigned !== undefined) return ended(membership.employment);
  if (membership.isIn || employment === undefined)
    return { change: 'ended', reason: whyNotInEffect(run, employee, deductionId) };
  const since = (attribute: 'pay_frequency' | 'pay_group', words: string): string => {
    const value = valueOn(employment, attribute, day);
    return dated(run, `${words} ${value}`, valueSince(employment, attribute, day), 'from');
  };
  switch (membership.why) {
    case 'other_frequency':
      return { change: 'moved', reason: since('pay_frequency', 'paid') };
    case 'other_pay_group':
      return { change: 'moved', reason: since('pay_group', 'in pay group') };
    case 'other_employer':
      return {
        change: 'moved',
        reason: dated(run, 'with another employer', hiredElsewhereOn(employments, day), 'from'),
      };
    case 'not_hired_yet':
      return { change: 'ended', reason: dated(run, 'not hired', nextHireOf(employment, day), 'until') };
    default:
      return ended(employment);
  }
}

/** Returns the employer of a deduction in effect on the day of a run. Undefined if it is not in effect; null if unassigned. */
function assignedEmployer(run: Run, { employeeId, histories }: RunEmployee, deductionId: string) {
  const history = histories.find((candidate) => candidate.deductionId === deductionId);
  const isInEffect = history !== undefined && stateFor(history, employeeId, dayOfRun(run)) !== null;
  return isInEffect ? assignedIn(history, run) : undefined;
}

/** Returns why a deduction is not in effect on the day of a run. */
function whyNotInEffect(run: Run, { employeeId, histories }: RunEmployee, deductionId: string): string {
  const counting = histories.find((history) => history.deductionId === deductionId)?.timeline.counting ?? [];
  const state = stateOn(counting, dayOfRun(run));
  if (state === null) {
    const starts = counting.flatMap(({ starts_on }) => starts_on ?? []).sort();
    return dated(run, 'coverage starts', starts[0]);
  }
  return state.employee_id === employeeId
    ? dated(run, 'coverage ended', state.ends_on)
    : dated(run, 'coverage is another employee’s', state.starts_on, 'from');
}

function hiredElsewhereOn(employments: readonly Employment[], day: string): string | null {
  const employer = employerOf(employments, day);
  const elsewhere = employments.find(({ employer_id }) => employer_id === employer);
  return elsewhere === undefined ? null : (spellOn(elsewhere, day)?.hire_date ?? null);
}

function nextHireOf({ spells }: Employment, day: string): string | null | undefined {
  return spells.find(({ hire_date }) => hire_date !== null && hire_date > day)?.hire_date;
}

/** Returns words with a date, if it is known. */
function dated(run: Run, words: string, day: string | null | undefined, preposition?: string): string {
  if (day == null) return words;
  const parts = [
    words,
    ...(preposition === undefined ? [] : [preposition]),
    dayInWords(day, yearOf(run.pay_date)),
  ];
  return parts.join(' ');
}
