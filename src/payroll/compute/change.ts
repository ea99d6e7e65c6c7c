/** Compares lines with the previous run, and stops its standing deductions. Pure. */
import type { PayFrequency } from '../../contract/employee.ts';
import { valueOn } from '../../ledger/employment.ts';
import { hasSameElection } from '../../ledger/state.ts';
import { amountOf } from '../../money.ts';
import { cycleTotal, skipsCheck } from '../calculation/amounts.ts';
import type { Line } from '../calculation/line.ts';
import { dayOfRun } from '../records/body.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { assignedIn, ELECTED_FOR_YEAR, stateFor } from './history.ts';
import { employmentAt, UNCLEAR } from './population.ts';
import type { RunTerms } from './terms.ts';

/** Returns the lines of the previous run that payroll still takes, by deduction. */
export function continuingLines({ inPrevious }: RunEmployee): Map<string, Line> {
  const continuing = new Map<string, Line>();
  for (const line of inPrevious.lines) {
    const isOver = line.change === 'ended' || line.change === 'moved';
    if (line.kind === 'regular' && !isOver) continuing.set(line.deduction_id, line);
  }
  return continuing;
}

/** Writes into a regular line how it differs from the line of its deduction in the previous run, if there is one. */
export function compareWithPrevious(computation: Computation, line: Line, before: Line | undefined): void {
  const { previous } = computation;
  type Election = Parameters<typeof hasSameElection>[0];
  const isSame = before !== undefined && hasSameElection(line as Election, before as Election);
  if (before !== undefined) {
    line.change = isSame ? 'same' : 'changed';
    line.previous_amount = before.member_amount;
  }
  if (previous === null) return;
  line.member_difference = line.member_amount - (before?.member_amount ?? 0n);
  line.employer_difference = line.employer_amount - (before?.employer_amount ?? 0n);
  if (line.member_difference === 0n && line.employer_difference === 0n) line.amount_change = 'same';
  else if (before === undefined || !isSame) line.amount_change = 'changed';
  else line.amount_change = changeOfCalendar(computation, line, previous, before);
}

/** Returns why the amounts of the same election differ: a cent of rounding, the calendar, or the policy. */
function changeOfCalendar(
  terms: RunTerms,
  line: Line,
  previous: RunTerms,
  before: Line,
): Line['amount_change'] {
  const isSamePolicy = (['scheme', 'remainder', 'extra_paycheck', 'applies_on'] as const).every(
    (option) => terms.run[option] === previous.run[option],
  );
  if (!isSamePolicy) return 'changed';
  if (isSkipped(terms, line) || isSkipped(previous, before)) return 'calendar';
  const [plan, previousPlan] = [terms.plan(), previous.plan()];
  const isWithinCent = [line.member_contribution, line.employer_contribution].every((contribution) => {
    const [total, previousTotal] = [plan, previousPlan].map((calendar) =>
      cycleTotal(contribution as string, line.period as PayFrequency, calendar),
    ) as [bigint, bigint];
    return total - previousTotal <= 1n && previousTotal - total <= 1n;
  });
  return plan.N === previousPlan.N && isWithinCent ? 'rounding' : 'calendar';
}

/** Reports whether a line takes nothing because the calendar leaves out its check. */
function isSkipped(terms: RunTerms, line: Line): boolean {
  if (line.member_amount !== 0n || line.employer_amount !== 0n) return false;
  return skipsCheck(terms.plan(), line.period as PayFrequency, ELECTED_FOR_YEAR.has(line.line_of_coverage));
}

/**
 * Returns one line of 0.00 for each deduction of the previous run without a line, so that standing deductions stop.
 * An off-cycle run does not stop the lines it does not take.
 */
export function stoppedLines(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
): Line[] {
  const { run } = computation;
  const { membership } = employee;
  if (run.kind === 'off_cycle' || (!membership.isIn && UNCLEAR.some((reason) => reason === membership.why)))
    return [];
  const stopped = continuingLines(employee);
  for (const line of regular) stopped.delete(line.deduction_id);
  const movedEmployee = movedTo(computation, employee);
  return [...stopped.values()].flatMap((before): Line[] => {
    const history = historyInEffect(computation, employee, before.deduction_id);
    const assigned = history === undefined ? null : assignedIn(history, run);
    // Whether it stops is unknown until it is assigned to one of two employers.
    if (membership.isIn && history !== undefined && assigned === null) return [];
    const isAssignedElsewhere = assigned !== null && assigned !== run.employer_id;
    const moved = isAssignedElsewhere ? `assigned to employer ${assigned}` : movedEmployee;
    const reason = moved === null ? 'ended' : `moved: ${moved}`;
    return [
      {
        ...before,
        member_amount: 0n,
        employer_amount: 0n,
        change: moved === null ? 'ended' : 'moved',
        amount_change: before.member_amount === 0n && before.employer_amount === 0n ? 'same' : 'changed',
        previous_amount: before.member_amount,
        member_difference: -before.member_amount,
        employer_difference: -before.employer_amount,
        flags: [],
        explanation: `${reason}; ${amountOf(before.member_amount)} in the previous run, nothing to take now`,
      },
    ];
  });
}

/** Returns the history of a deduction that is in effect on the run's day, or undefined. */
function historyInEffect({ run }: Computation, { employeeId, histories }: RunEmployee, deductionId: string) {
  const history = histories.find((candidate) => candidate.deductionId === deductionId);
  const isInEffect = history !== undefined && stateFor(history, employeeId, dayOfRun(run)) !== null;
  return isInEffect ? history : undefined;
}

/** Returns the destination of an employee who left the run's population. Null if the employee did not move. */
function movedTo({ run }: Computation, { membership, employments }: RunEmployee): string | null {
  const employment = employmentAt(employments, run);
  if (membership.isIn || employment === undefined) return null;
  const { why } = membership;
  if (why === 'other_frequency') return `paid ${valueOn(employment, 'pay_frequency', run.period_end)} now`;
  if (why === 'other_pay_group')
    return `in pay group ${valueOn(employment, 'pay_group', run.period_end)} now`;
  return why === 'other_employer' ? 'with another employer now' : null;
}
