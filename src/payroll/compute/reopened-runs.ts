/** Which earlier runs may have open items of an employee. Only their lines are read. Pure. */
import type { RunVersion } from '../../ledger/history.ts';
import { type History, historyAt, newestFact, stateInRun } from './history.ts';
import { paidDirectly } from './item-state.ts';
import { overlaps } from './missed-checks.ts';
import { overriddenAmounts } from './overrides.ts';
import type { EarlierRun, Payee, Payout } from './payout.ts';
import type { Job } from './population.ts';

export type Reopened = Pick<Payee, 'reopened' | 'revised'>;

export const NOT_REOPENED: Reopened = { reopened: [], revised: new Set() };

/** Returns the earlier runs that may have open items of an employee: most often none. */
export function reopenedRuns({ earlier }: Payout, employee: Payee): Reopened {
  const { employeeId, takenItems, decisions, owed, shares } = employee;
  const newest = newestPosition(employee);
  const hasAmounts = takenItems.length + decisions.length + owed.length + shares.length > 0;
  if (!hasAmounts && earlier.every((run) => isAsKnown(run, newest) && !run.finalChecks.has(employeeId)))
    return NOT_REOPENED;
  const settledRuns = new Set([
    ...takenItems.map(({ earlierRunId }) => earlierRunId),
    ...paidDirectly(employee).map(({ run_id }) => run_id),
  ]);
  const reopened = new Set<EarlierRun>();
  const revised = new Set<EarlierRun>();
  for (const run of earlier) {
    const isSettled = settledRuns.has(run.runId);
    if (isSettled || owed.some((amount) => amount.runId === run.runId && amount.owed !== 0n))
      reopened.add(run);
    if (!run.isRecent) continue;
    if (isSettled) revised.add(run);
    if (run.isVoided) continue;
    if (isAsKnown(run, newest) && !isSettled && !hasShares(run, employee)) continue;
    const job = jobFor(run, employee);
    if (!(isSettled || hasShares(run, employee) || isTouched(run, employee, job))) continue;
    reopened.add(run);
    revised.add(run);
    // Another run of the same days may have taken what this run missed.
    if (!job.wasIn) for (const rival of earlier) if (overlaps(rival.run, run.run)) reopened.add(rival);
  }
  return { reopened: earlier.filter((run) => reopened.has(run)), revised };
}

/** Reports whether nothing was recorded since a run. Employees outside the run then owe it nothing, unless it was narrowed to some. */
function isAsKnown({ position, employees }: EarlierRun, newest: number): boolean {
  return newest <= position && employees === null;
}

/** Returns the position of the newest fact of an employee. */
function newestPosition({ employments, histories }: Payee): number {
  let newest = 0;
  for (const { position } of employments) newest = Math.max(newest, position);
  for (const history of histories) newest = Math.max(newest, newestFact(history));
  return newest;
}

/** Reports whether a run was a final check, or has the pay date of a share that one took, even if it was voided. */
function hasShares({ run, finalChecks }: EarlierRun, { employeeId, shares }: Payee): boolean {
  return finalChecks.has(employeeId) || shares.some(({ payDate }) => payDate === run.pay_date);
}

/** Reports whether facts recorded after a run may change what an employee owes it. */
function isTouched(earlier: EarlierRun, employee: Payee, job: EarlierJob): boolean {
  const { employeeId } = employee;
  const { wasIn, owes } = job;
  return employee.histories.some((history) => {
    const then = wasIn ? historyAt(history, earlier.position) : null;
    // Most often nothing was recorded since.
    if (then === history) return false;
    // An override has a state also if the deduction is in effect no more.
    const statesOf = (known: History): (RunVersion | null)[] => [
      (wasIn ? overriddenAmounts(earlier, employee, known)?.state : null) ?? null,
      stateInRun(known, employeeId, earlier, job),
    ];
    const before = then === null ? [] : statesOf(then);
    const now = owes ? statesOf(history) : [];
    return [0, 1].some((place) => before[place]?.position !== now[place]?.position);
  });
}

/** The job of an employee that decides what an earlier run took: as frozen if it had the employee, else by today's facts. */
export type EarlierJob = Job & {
  wasIn: boolean;
  /**
   * The employee was in the run or belongs in it. Amounts taken follow the deduction's own dates, whatever is reported about
   * the employment later.
   */
  owes: boolean;
};

/**
 * Returns the job for an earlier run. `wasIn`: whether the run had the employee; without it, its own computation is repeated
 * to decide that.
 */
export function jobFor(earlier: EarlierRun, employee: Payee, wasIn?: boolean): EarlierJob {
  if (wasIn !== false) {
    const then = employee.jobAt(earlier, earlier.position);
    if (wasIn ?? then.membership.isIn) return { ...then, wasIn: true, owes: true };
  }
  const now = employee.jobAt(earlier);
  return { ...now, wasIn: false, owes: earlier.run.kind === 'regular' && now.belongs };
}

/** Reports whether the run's own computation, repeated with what was known then, has the employee in it. */
export function wasInRun(earlier: EarlierRun, { jobAt }: Payee): boolean {
  return jobAt(earlier, earlier.position).membership.isIn;
}

/** Returns the earlier regular runs, not voided, that had the employee. */
export function checksBefore({ earlier }: Pick<Payout, 'earlier'>, employee: Payee): EarlierRun[] {
  return earlier.filter((run) => !run.isVoided && run.run.kind === 'regular' && wasInRun(run, employee));
}
