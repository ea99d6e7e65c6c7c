/** Which earlier runs may have open items of an employee. Only their lines are read. Pure. */
import type { Employment } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import type { Computation, EarlierRun, RunEmployee } from './computation.ts';
import { type History, historyAt, stateInRun } from './history.ts';
import { paidDirectly } from './item-state.ts';
import { overlaps } from './missed-checks.ts';
import { overriddenAmounts } from './overrides.ts';
import { belongsIn, membershipOf } from './population.ts';

export type Reopened = Pick<RunEmployee, 'reopened' | 'revised'>;

/** Returns the earlier runs that may have open items of an employee: most often none. */
export function reopenedRuns({ earlier }: Computation, employee: RunEmployee): Reopened {
  const settledRuns = new Set([
    ...employee.takenItems.map(({ source }) => source),
    ...paidDirectly(employee).map(({ run_id }) => run_id),
  ]);
  const reopened = new Set<EarlierRun>();
  const revised = new Set<EarlierRun>();
  for (const run of earlier) {
    const isSettled = settledRuns.has(run.runId);
    if (isSettled || employee.owed.some(({ runId, owed }) => runId === run.runId && owed !== 0n))
      reopened.add(run);
    if (!run.isRecent) continue;
    if (isSettled) revised.add(run);
    if (run.isVoided) continue;
    const wasIn = wasInRun(run, employee);
    if (!(isSettled || hasShares(run, employee) || isTouched(run, employee, wasIn))) continue;
    reopened.add(run);
    revised.add(run);
    // Another run of the same days may have taken what this run missed.
    if (!wasIn) for (const rival of earlier) if (overlaps(rival.run, run.run)) reopened.add(rival);
  }
  return { reopened: earlier.filter((run) => reopened.has(run)), revised };
}

/** Reports whether a run was a final check, or has the pay date of a share that one took, even if it was voided. */
function hasShares({ run, finalChecks }: EarlierRun, { employeeId, shares }: RunEmployee): boolean {
  return finalChecks.has(employeeId) || shares.some(({ payDate }) => payDate === run.pay_date);
}

/** Reports whether facts recorded after a run may change what an employee owes it. */
function isTouched(earlier: EarlierRun, employee: RunEmployee, wasIn: boolean): boolean {
  const owes = owesRun(earlier, employee, wasIn);
  const { employeeId } = employee;
  const employments = employmentsIn(earlier, employee, wasIn);
  return employee.histories.some((history) => {
    const then = wasIn ? historyAt(history, earlier.position) : null;
    // Most often nothing was recorded since.
    if (then === history) return false;
    // An override has a state also if the deduction is in effect no more.
    const statesOf = (known: History): (RunVersion | null)[] => [
      (wasIn ? overriddenAmounts(earlier, employee, known)?.state : null) ?? null,
      stateInRun(known, employeeId, earlier, employments),
    ];
    const before = then === null ? [] : statesOf(then);
    const now = owes ? statesOf(history) : [];
    return [0, 1].some((place) => before[place]?.position !== now[place]?.position);
  });
}

/** Reports whether the run's own computation, repeated with what was known then, has the employee in it. */
export function wasInRun(earlier: EarlierRun, { employmentsAt }: RunEmployee): boolean {
  return membershipOf(employmentsAt(earlier.position), earlier).isIn;
}

/** Returns the earlier regular runs, not voided, that had the employee. */
export function checksBefore({ earlier }: Pick<Computation, 'earlier'>, employee: RunEmployee): EarlierRun[] {
  return earlier.filter((run) => !run.isVoided && run.run.kind === 'regular' && wasInRun(run, employee));
}

/**
 * Reports whether the employee belongs in an earlier run: as frozen if the run had the employee (`wasIn`), else by today's
 * facts. Amounts taken follow the deduction's own dates, whatever is reported about the employment later.
 */
export function owesRun(earlier: EarlierRun, { employments }: RunEmployee, wasIn: boolean): boolean {
  return wasIn || (earlier.run.kind === 'regular' && belongsIn(employments, earlier));
}

/** Returns the employments that decide what an employee owes an earlier run: as frozen if it had the employee (`wasIn`). */
export function employmentsIn(
  { position }: EarlierRun,
  { employments, employmentsAt }: RunEmployee,
  wasIn: boolean,
): readonly Employment[] {
  return wasIn ? employmentsAt(position) : employments;
}
