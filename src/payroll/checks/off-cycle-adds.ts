/** What an off-cycle run takes in addition to the pay dates of the year: docs/amounts.md. Pure. */
import type { Cents } from '../../money.ts';
import type { Line } from '../calculation/line.ts';
import type { Computation, EarlierRun, RunEmployee } from '../compute/computation.ts';
import { historyOf, stateInRun } from '../compute/history.ts';
import { isWithin } from '../compute/missed-checks.ts';
import { wasInRun } from '../compute/reopened-runs.ts';
import type { Taking } from '../compute/taking.ts';

/** Returns the amounts of an employee's off-cycle lines, less what they pay of a check that the employee missed. */
export function addedToYear(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
  { units }: Taking,
): Cents[] {
  const missed = computation.earlier.filter(
    (earlier) =>
      !earlier.isVoided &&
      earlier.isRecent &&
      earlier.run.kind === 'regular' &&
      isWithin(computation.run, earlier.run) &&
      !wasInRun(earlier, employee) &&
      employee.jobAt(earlier).belongs,
  );
  const addedBy = ({ account: { deduction_id }, amounts }: Line): Cents => {
    const history = historyOf(employee.histories, deduction_id);
    const isDue = (earlier: EarlierRun) =>
      stateInRun(history, employee.employeeId, earlier, employee.jobAt(earlier)) !== null;
    const run = missed.find(isDue);
    if (run === undefined) return amounts.member;
    const item = units
      .flatMap(({ items }) => items)
      .find(({ identity }) => identity.source === run.runId && identity.deduction_id === deduction_id);
    // What the missed check leaves below zero was taken twice.
    const beyond = -(item?.outstanding.member ?? 0n);
    return beyond > 0n ? beyond : 0n;
  };
  return regular
    .filter(({ shares }) => shares === null)
    .map(addedBy)
    .filter((amount) => amount !== 0n);
}
