/** Overrides: amounts that a person set for one deduction of one paycheck instead of the regular ones. Pure. */
import type { RunVersion } from '../../ledger/history.ts';
import { latestOf, stateOn } from '../../ledger/state.ts';
import { amountOf, centsOf, printReadable } from '../../money.ts';
import { dayOfCheck } from '../calculation/plan.ts';
import type { Override } from '../records/basis.ts';
import type { Computation, EarlierRun, RunEmployee } from './computation.ts';
import { type History, historyAt, stateFor } from './history.ts';
import type { Job } from './population.ts';
import { type CheckAmounts, checkAmounts, datesOfLastMonth } from './shares.ts';
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
function stateOrLatest(history: History, employeeId: string, day: string): RunVersion | null {
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

/** An override whose regular amounts are different by today's facts. `ids`: the version, and the pay date of the run. */
type OutdatedOverride = { example: string; ids: readonly string[] };

/** Returns a function that finds an employee's outdated overrides, of the computed run and of earlier runs. */
export function createOutdatedOverrides(
  computation: Computation,
): (employee: RunEmployee) => OutdatedOverride[] {
  const { previous } = computation;
  const earlier = computation.earlier.filter(({ isVoided, overrides }) => !isVoided && overrides.size > 0);
  const outdatedIn = (
    terms: RunTerms,
    { employeeId, histories }: RunEmployee,
    regularOf: (history: History) => CheckAmounts | null | undefined,
  ): OutdatedOverride[] =>
    (terms.overrides.get(employeeId) ?? []).flatMap((override) => {
      const history = histories.find(({ deductionId }) => deductionId === override.deduction_id);
      const regular = history === undefined ? undefined : regularOf(history);
      if (history === undefined || regular === undefined) return [];
      return outdated(terms, override, history, regular) ?? [];
    });
  return (employee) => {
    const { employeeId, membership, jobAt } = employee;
    // What the previous run reported is not reported again.
    const isReported = (run: EarlierRun, history: History, due: CheckAmounts | null): boolean => {
      if (previous === null || previous.position < run.position) return false;
      const known = historyAt(history, previous.position);
      const then = known === null ? null : dueOf(run, known);
      return then?.member_amount === due?.member_amount && then?.employer_amount === due?.employer_amount;
    };
    const dueOf = (run: EarlierRun, history: History): CheckAmounts | null =>
      checkAmounts(computation, run, employee, history, jobAt(run, run.position));
    const before = earlier
      // Later runs settle shares of a final check; today's facts do not have the shares that remained then.
      .filter(({ finalChecks }) => !finalChecks.has(employeeId))
      .flatMap((run) =>
        outdatedIn(run, employee, (history) => {
          const due = dueOf(run, history);
          return isReported(run, history, due) ? undefined : due;
        }),
      );
    const now = outdatedIn(computation, employee, (history) =>
      membership.isIn ? checkAmounts(computation, computation, employee, history, employee) : null,
    );
    return [...before, ...now];
  };
}

function outdated(
  { run, day }: RunTerms,
  override: Override,
  history: History,
  regular: CheckAmounts | null,
): OutdatedOverride | null {
  const { employee_id, deduction_id, regular_member_amount, regular_employer_amount } = override;
  const [then, now] = [
    inWords(regular_member_amount, regular_employer_amount),
    regular === null
      ? inWords(null, null)
      : inWords(amountOf(regular.member_amount), amountOf(regular.employer_amount)),
  ];
  if (then === now) return null;
  const version = stateOrLatest(history, employee_id, day)?.version;
  const example = `${employee_id}: ${deduction_id} on ${run.pay_date} would be ${now}; it was ${then} when overridden`;
  return { example, ids: [`${deduction_id}:${version}`, run.pay_date] };
}

/** Returns `69.23 plus employer 23.08`, or `no line`. */
function inWords(member: string | null, employer: string | null): string {
  if (member === null || employer === null) return 'no line';
  return employer === '0.00' ? member : `${member} plus employer ${employer}`;
}
