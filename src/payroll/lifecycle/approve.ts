/** Approves finalizing or voiding a run, for the lines and findings that a person reviewed. */
import type { ReadinessReport } from '../../checks.ts';
import type { Db, RunState } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import type { Acting } from '../../security/audit.ts';
import {
  type ApprovedAction,
  approvalsOf,
  insertApproval,
  type NewApproval,
  type StoredApproval,
  withdrawApprovals,
} from '../records/approvals.ts';
import { findRun, type StoredRun, stateOf } from '../records/runs.ts';
import { lockPayroll } from '../settings/lock.ts';

export type Approving = {
  action: ApprovedAction;
  /** The ETag that was reviewed: of the readiness report of an open run, or of final lines. Null for final lines not checked. */
  ifMatch: string | null;
  /** The checks whose findings are accepted. */
  accept: readonly string[];
  person: string;
  reason: string;
};

export type Approved =
  | { outcome: 'approved'; approval: StoredApproval; stored: StoredRun }
  | { outcome: 'unknown' }
  /** Finalizing is approved while a run is open, voiding while it is finalized. */
  | { outcome: 'wrong-state'; state: RunState }
  /** The lines or findings are not the reviewed ones. `etag`: of the current ones. */
  | { outcome: 'changed'; etag: string }
  | { outcome: 'not-ready'; report: ReadinessReport };

type Reviewed = Pick<NewApproval, 'etag' | 'checks' | 'findings'>;

/** Stores an approval, unless the run changed since it was reviewed. */
export async function approveRun(
  db: Db,
  runId: string,
  approving: Approving,
  acting: Acting,
  checkReadiness: (stored: StoredRun) => Promise<ReadinessReport>,
): Promise<Approved> {
  const { action, ifMatch, accept, person, reason } = approving;
  const stored = await findRun(db, runId);
  if (stored === null) return { outcome: 'unknown' };
  if (stored.state !== (action === 'void' ? 'finalized' : 'open'))
    return { outcome: 'wrong-state', state: stored.state };
  const reviewed =
    action === 'void'
      ? finalLines(stored, ifMatch)
      : openLines(await checkReadiness(stored), accept, ifMatch);
  if ('outcome' in reviewed) return reviewed;
  const approval: NewApproval = {
    ...{ runId, employerId: stored.employer_id, action, person, reason },
    ...reviewed,
  };
  return transact(db, async (trx): Promise<Approved> => {
    await lockPayroll(trx);
    const state = await stateOf(trx, runId);
    if (state === undefined) return { outcome: 'unknown' };
    if (state !== stored.state) return { outcome: 'wrong-state', state };
    const id = await insertApproval(trx, approval, acting);
    const made = (await approvalsOf(trx, runId, acting.now)).find(({ recordId }) => recordId === id);
    return { outcome: 'approved', approval: made as StoredApproval, stored };
  });
}

type Withdrawn = { outcome: 'withdrawn' | 'none'; stored: StoredRun } | { outcome: 'unknown' };

/** Withdraws what a person approved of a run. A run that became final by it stays final. */
export async function withdrawApproval(
  db: Db,
  runId: string,
  person: string,
  acting: Acting,
): Promise<Withdrawn> {
  return transact(db, async (trx): Promise<Withdrawn> => {
    await lockPayroll(trx);
    const stored = await findRun(trx, runId);
    if (stored === null) return { outcome: 'unknown' };
    const count = await withdrawApprovals(trx, { runId, employerId: stored.employer_id }, person, acting);
    return { outcome: count > 0 ? 'withdrawn' : 'none', stored };
  });
}

/** Returns the reviewed lines of an open run with the accepted findings, or why they cannot be approved. */
function openLines(
  report: ReadinessReport,
  accept: readonly string[],
  ifMatch: string | null,
): Reviewed | Approved {
  if (report.etag !== ifMatch) return { outcome: 'changed', etag: report.etag };
  const findings = report.acceptable.filter(({ checkId }) => accept.includes(checkId));
  if (report.checks.some(({ id, result }) => result === 'fail' && !accept.includes(id)))
    return { outcome: 'not-ready', report };
  return { etag: report.etag.split('.')[0] as string, checks: accept, findings };
}

function finalLines({ etag }: StoredRun, ifMatch: string | null): Reviewed | Approved {
  const current = etag as string;
  if (ifMatch !== null && ifMatch !== current) return { outcome: 'changed', etag: current };
  return { etag: current, checks: [], findings: [] };
}
