/** Overrides: amounts that a person set for one deduction of one paycheck instead of the regular ones. Pure. */
import type { RunVersion } from '../../ledger/history.ts';
import { latestOf, stateOn } from '../../ledger/state.ts';
import { centsOf, printReadable } from '../../money.ts';
import { dayOfCheck } from '../calculation/plan.ts';
import type { Override } from '../records/basis.ts';
import type { RunEmployee } from './computation.ts';
import { type History, stateFor } from './history.ts';
import type { Job } from './population.ts';
import { type CheckAmounts, datesOfLastMonth } from './shares.ts';
import type { RunTerms } from './terms.ts';

/** Returns the override of a deduction of an employee, or undefined. Most runs have none. */
function overrideOf({ overrides }: RunTerms, employeeId: string, deductionId: string): Override | undefined {
  return overrides.get(employeeId)?.find(({ deduction_id }) => deduction_id === deductionId);
}

/**
 * Returns the amounts of an override with the content of the state on the run's day, else of the latest state. Null
 * without an override.
 */
export function overriddenAmounts(
  terms: RunTerms,
  { employeeId }: Pick<RunEmployee, 'employeeId'>,
  history: History,
): CheckAmounts | null {
  const override = overrideOf(terms, employeeId, history.deductionId);
  const state = override === undefined ? null : stateOrLatest(history, employeeId, terms.day);
  if (override === undefined || state === null) return null;
  const [member_amount, employer_amount] = [
    centsOf(override.member_amount),
    centsOf(override.employer_amount),
  ];
  const isNegative = member_amount < 0n || employer_amount < 0n;
  return {
    ...{ state, member_amount, employer_amount, shares: null },
    flags: isNegative ? ['overridden', 'negative'] : ['overridden'],
    explanation: workingOf(override),
  };
}

/**
 * Reports whether an overridden line is of a deduction that by today's facts was not in effect on the run's day, nor, of a final
 * check, on a pay date in the month of the termination.
 */
export function isCanceled(
  terms: RunTerms,
  { employeeId }: Pick<RunEmployee, 'employeeId'>,
  history: History,
  job: Job,
): boolean {
  const override = overrideOf(terms, employeeId, history.deductionId);
  if (override === undefined || override.regular_member_amount === null) return false;
  const { run, day, finalChecks } = terms;
  const rest = finalChecks.has(employeeId) ? datesOfLastMonth(terms, job) : [];
  const days = [day, ...rest.map((date) => dayOfCheck(run.applies_on, date))];
  return days.every((date) => stateFor(history, employeeId, date) === null);
}

/** Returns the state on a day, in effect or not, else the latest state that names the employee. */
export function stateOrLatest(history: History, employeeId: string, day: string): RunVersion | null {
  const state = stateOn(history.timeline.counting, day);
  if (state?.employee_id === employeeId) return state;
  return latestOf(history.versions.filter((version) => version.employee_id === employeeId));
}

/** Returns `override: 40.00 instead of 69.23; plus employer 0.00 instead of 23.08`. */
function workingOf({
  member_amount,
  employer_amount,
  regular_member_amount,
  regular_employer_amount,
}: Override): string {
  const sideOf = (amount: string, regular: string | null): string => {
    const instead = regular === null ? 'no line' : printReadable(centsOf(regular));
    return `${printReadable(centsOf(amount))} instead of ${instead}`;
  };
  const hasEmployer = centsOf(employer_amount) !== 0n || centsOf(regular_employer_amount ?? '0.00') !== 0n;
  const employer = hasEmployer ? `; plus employer ${sideOf(employer_amount, regular_employer_amount)}` : '';
  return `override: ${sideOf(member_amount, regular_member_amount)}${employer}`;
}
