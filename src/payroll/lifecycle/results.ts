/** The results of runs: computed now, or as stored. */
import type { Db } from '../../database/tables.ts';
import { RULES_VERSION } from '../calculation/amounts.ts';
import { type Plan, planOf } from '../calculation/plan.ts';
import { beginComputation } from '../compute/computation.ts';
import { computeInTurn } from '../compute/queue.ts';
import { storedBasisOf } from '../records/basis.ts';
import type { RequestedRun, Run } from '../records/body.ts';
import { frozenOutcomeOf } from '../records/outcome.ts';
import { bodyOf, type StoredRun } from '../records/runs.ts';
import { totalsOf } from '../records/totals.ts';
import { type ComputedRun, type OnPage, type Summary, summarize } from './summary.ts';

/** The result of a run: computed now if it is open, otherwise as stored. */
export type RunView = Omit<Summary, 'found'> & {
  run: Run;
  plan: Plan;
  position: number;
  rulesVersion: string;
  /** The failed checks that were accepted when it was finalized. */
  acceptedChecks: readonly string[];
};

/** Returns the view of a stored run. Throws RUN_REFUSED if an open run can no longer be computed. */
export async function viewRun(db: Db, stored: StoredRun): Promise<RunView> {
  if (stored.state === 'open') {
    const body = bodyOf(stored);
    return viewComputed(await computeInTurn(body.employer_id, () => computeNow(db, stored.run_id, body)));
  }
  const basis = storedBasisOf(stored);
  const {
    accepted_checks,
    approval_id: _approval,
    acceptances_hash: _hash,
    ...outcome
  } = frozenOutcomeOf(stored);
  return {
    run: basis.run,
    plan: planOf(basis.run, basis.calendar),
    position: stored.position as number,
    rulesVersion: stored.rules_version as string,
    totals: totalsOf(stored),
    etag: stored.etag as string,
    outcome,
    acceptedChecks: accepted_checks,
  };
}

/** Computes a run without storing anything. The caller has its turn (`computeInTurn`). Throws RUN_REFUSED. */
export async function computeNow(
  db: Db,
  runId: string | null,
  requested: RequestedRun,
  onPage?: OnPage,
): Promise<ComputedRun> {
  const computation = await beginComputation(db, runId, requested);
  return { computation, summary: await summarize(db, computation, onPage) };
}

/** Returns the view of a computed run. */
export function viewComputed({ computation, summary }: ComputedRun): RunView {
  const { found: _, ...rest } = summary;
  return {
    ...rest,
    run: computation.run,
    plan: computation.plan(),
    position: computation.basis.position,
    rulesVersion: RULES_VERSION,
    acceptedChecks: [],
  };
}
