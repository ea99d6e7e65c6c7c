/** Approves finalizing or voiding a run, for the lines and findings that a person reviewed. */
import type { ReadinessReport } from '../../checks.ts';
import type { Db, RunState } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { conflict, notFound } from '../../errors.ts';
import type { Acting } from '../../security/audit.ts';
import {
  type ApprovedAction,
  approvalsOf,
  insertApproval,
  type NewApproval,
  type StoredApproval,
  withdrawApprovals,
} from '../records/approvals.ts';
import { notFinalized, notOpen, type StoredRun, stateOf, storedRun } from '../records/runs.ts';
import { lockPayroll } from '../settings/lock.ts';
import { assertReviewed, linesEtagOf, notReady, reviewAgain } from './reviewed.ts';

export type Approving = {
  action: ApprovedAction;
  /** The ETag that was reviewed: of the readiness report of an open run, or of final lines. Null for final lines not checked. */
  ifMatch: string | null;
  /** The checks whose findings are accepted. */
  accept: readonly string[];
  person: string;
  reason: string;
};

type Reviewed = Pick<NewApproval, 'etag' | 'checks' | 'findings'>;

/**
 * Stores an approval, unless the run changed since it was reviewed. Throws NOT_FOUND, CONFLICT, PRECONDITION_FAILED,
 * READINESS_FAILED or RUN_REFUSED.
 */
export async function approveRun(
  db: Db,
  runId: string,
  approving: Approving,
  acting: Acting,
  checkReadiness: (stored: StoredRun) => Promise<ReadinessReport>,
): Promise<{ approval: StoredApproval; stored: StoredRun }> {
  const { action, ifMatch, accept, person, reason } = approving;
  const stored = await storedRun(db, runId);
  assertApprovable(stored.state, action);
  const reviewed =
    action === 'void'
      ? finalLines(stored, ifMatch)
      : openLines(await checkReadiness(stored), accept, ifMatch);
  const approval: NewApproval = {
    ...{ runId, employerId: stored.employer_id, action, person, reason },
    ...reviewed,
  };
  return transact(db, async (trx) => {
    await lockPayroll(trx);
    assertApprovable(await stateOf(trx, runId), action);
    const id = await insertApproval(trx, approval, acting);
    const made = (await approvalsOf(trx, runId, acting.now)).find(({ recordId }) => recordId === id);
    return { approval: made as StoredApproval, stored };
  });
}

/** Finalizing is approved while a run is open, voiding while it is finalized. */
function assertApprovable(state: RunState | undefined, action: ApprovedAction): void {
  if (state === undefined) throw notFound('payroll run');
  if (action === 'void' && state !== 'finalized') throw notFinalized({ state });
  if (action === 'finalize' && state !== 'open') throw notOpen();
}

/**
 * Withdraws what a person approved of a run, and returns the run. A run that became final by it stays final. Throws NOT_FOUND
 * or CONFLICT.
 */
export async function withdrawApproval(
  db: Db,
  runId: string,
  person: string,
  acting: Acting,
): Promise<StoredRun> {
  return transact(db, async (trx) => {
    await lockPayroll(trx);
    const stored = await storedRun(trx, runId);
    const count = await withdrawApprovals(trx, { runId, employerId: stored.employer_id }, person, acting);
    if (count === 0) throw conflict('You have given no approval of this run that counts.');
    return stored;
  });
}

/** Returns the reviewed lines of an open run with the accepted findings. */
function openLines(report: ReadinessReport, accept: readonly string[], ifMatch: string | null): Reviewed {
  assertReviewed(report, ifMatch);
  const findings = report.acceptable.filter(({ checkId }) => accept.includes(checkId));
  if (report.checks.some(({ id, result }) => result === 'fail' && !accept.includes(id)))
    throw notReady(report, accept);
  return { etag: linesEtagOf(report.etag), checks: accept, findings };
}

function finalLines({ etag }: StoredRun, ifMatch: string | null): Reviewed {
  const current = etag as string;
  if (ifMatch !== null && ifMatch !== current)
    throw reviewAgain(current, 'This is not the ETag of the final lines. Review the run again.');
  return { etag: current, checks: [], findings: [] };
}
