/**
 * The computation of a run: one value, built before any employee is read and passed on to all functions that compute
 * lines. They are pure functions of the computation and an employee.
 */
import type { Db, Trx } from '../../database/tables.ts';
import type { Line } from '../calculation/line.ts';
import type { Basis } from '../records/basis.ts';
import type { RequestedRun } from '../records/body.ts';
import { resolveBasis } from './basis.ts';
import { type EarlierRun, earlierRunsOf, type Payee, type Payout, payoutOf } from './payout.ts';
import type { Job } from './population.ts';
import { type RunTerms, termsOf } from './terms.ts';

export type Computation = RunTerms &
  Payout & {
    /** Null for a run that is not stored. */
    runId: string | null;
    basis: Basis;
    /** The finalized regular run that changes are compared with. */
    previous: EarlierRun | null;
  };

/** An employee of the employer as known to a run, in the run or not. */
export type RunEmployee = Payee &
  Job & {
    /** The employee's lines in the previous run. `isIn`: false if the run did not include the employee. */
    inPrevious: { isIn: boolean; lines: readonly Line[] };
  };

/** Begins the computation of a run by what is known now. Throws RUN_REFUSED. */
export async function beginComputation(
  db: Db | Trx,
  runId: string | null,
  requested: RequestedRun,
): Promise<Computation> {
  return computationOf(db, runId, await resolveBasis(db, runId, requested));
}

/** Returns the computation of a basis. With `only`, it computes these employees, else all or those that an off-cycle run names. */
export async function computationOf(
  db: Db | Trx,
  runId: string | null,
  basis: Basis,
  only: readonly string[] | null = null,
): Promise<Computation> {
  const { run, previous } = basis;
  const named = only ?? (run.kind === 'off_cycle' ? run.employee_ids : null);
  const earlier = await earlierRunsOf(db, basis.earlier, run);
  const older = previous === null || earlier.some(({ runId }) => runId === previous) ? [] : [previous];
  const before = await earlierRunsOf(
    db,
    older.map((run_id) => ({ run_id, is_voided: false })),
    run,
  );
  return {
    ...termsOf(basis),
    ...(await payoutOf(db, run, basis, earlier, named)),
    runId,
    previous: [...earlier, ...before].find((candidate) => candidate.runId === previous) ?? null,
  };
}
