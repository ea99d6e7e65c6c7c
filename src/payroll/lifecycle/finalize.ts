/** Finalizes a run: freezes its lines, options, pay dates, roster rows, rules and the ledger's position. */
import { randomUUID } from 'node:crypto';
import type { AcceptableFinding, ReadinessReport, RememberedFinding } from '../../checks.ts';
import type { SharedNow } from '../../database/engine.ts';
import { isUnavailable } from '../../database/errors.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { confirmDurable, transact } from '../../database/transaction.ts';
import { type AppError, conflict } from '../../errors.ts';
import { isAnyAssignedAfter } from '../../ledger/assignments.ts';
import { notify } from '../../notifications/store.ts';
import { type Actor, record } from '../../security/audit.ts';
import { lockHead } from '../../security/audit-chain.ts';
import { RULES_VERSION } from '../calculation/amounts.ts';
import { resolveBasis } from '../compute/basis.ts';
import { beginComputation, type Computation } from '../compute/computation.ts';
import { computeInTurn } from '../compute/queue.ts';
import { type ApprovalState, approvalFor, approvalMissing, findingHash } from '../records/approvals.ts';
import { columnsOfBasis, hashOf, isSameBasis } from '../records/basis.ts';
import {
  abandonFreeze,
  beginFreeze,
  countFrozen,
  endFreeze,
  removeAbandoned,
  renewFreeze,
} from '../records/freezes.ts';
import { insertLines } from '../records/frozen-lines.ts';
import { type FrozenOutcome, hashOfFinal } from '../records/outcome.ts';
import {
  bodyOf,
  notFinalized,
  notifiedRun,
  runOnPayDate,
  type StoredRun,
  setFinalized,
  storedRun,
} from '../records/runs.ts';
import { insertSettlements, type Settlement, settlementsOf } from '../records/settlements.ts';
import { lockPayroll } from '../settings/lock.ts';
import {
  type Acceptance,
  acceptancesWith,
  countAcceptances,
  insertAcceptances,
  removeAcceptances,
} from './acceptances.ts';
import { etagRequired, linesEtagOf, notReady, reviewAgain } from './reviewed.ts';
import { type Summary, summarize } from './summary.ts';

export type Finalizing = {
  /** The ETag of the lines or of the readiness report that was reviewed; null if the request has none. */
  ifMatch: string | null;
  /** Identifies the request, so that a repeat returns the run; null without one. */
  idempotencyKey?: string | null;
  accept: Acceptance | null;
  actor: Actor;
  /** The person who finalizes; null if unknown. */
  person?: string | null;
  sharedNow: SharedNow;
};

export type CheckReadiness = (computation: Computation, summary: Summary) => Promise<ReadinessReport>;

/** An earlier request with the same ETag or idempotency key finalized the run. */
type Repeated = { outcome: 'repeated'; stored: StoredRun };

export type Finalized = { outcome: 'finalized'; stored: StoredRun } | Repeated;

/**
 * Finalizes an open run. Its lines are written first, about a hundred employees per transaction; then one small
 * transaction makes the run final, unless the employer's payroll changed in the meantime. Throws NOT_FOUND, CONFLICT, RUN_REFUSED,
 * READINESS_FAILED, APPROVAL_MISSING, PRECONDITION_FAILED or PRECONDITION_REQUIRED, and ABANDONED if a clean-up removed the lines.
 */
export async function finalizeRun(
  db: Db,
  runId: string,
  finalizing: Finalizing,
  checkReadiness: CheckReadiness,
): Promise<Finalized> {
  await removeAbandoned(db, finalizing.sharedNow);
  const open = await findOpen(db, runId, finalizing);
  if (open.outcome === 'repeated') {
    await confirmDurable(db);
    return open;
  }
  return computeInTurn(open.stored.employer_id, () =>
    finalizeOpen(db, open.stored, finalizing, checkReadiness),
  );
}

async function finalizeOpen(
  db: Db,
  stored: StoredRun,
  finalizing: Finalizing,
  checkReadiness: CheckReadiness,
): Promise<Finalized> {
  const { sharedNow } = finalizing;
  const runId = stored.run_id;
  const computation = await beginComputation(db, runId, bodyOf(stored));
  const freezeId = randomUUID();
  try {
    const frozen = await writeLines(db, computation, freezeId, sharedNow);
    const reviewed = await review(db, computation, frozen.summary, finalizing, checkReadiness);
    const repeated = await transact(db, (trx) => makeFinal(trx, computation, frozen, reviewed, finalizing));
    if (repeated !== null) {
      await abandonFreeze(db, freezeId);
      return repeated;
    }
  } catch (error) {
    // This error matters more. If the database is unavailable, a later finalize removes the lines.
    if (!isUnavailable(error)) await abandonFreeze(db, freezeId).catch(() => {});
    throw error;
  }
  return { outcome: 'finalized', stored: await storedRun(db, runId) };
}

/** Returns the run, which is open with a free pay date, or was finalized by this request. */
async function findOpen(
  db: Db | Trx,
  runId: string,
  finalizing: Finalizing,
): Promise<{ outcome: 'open'; stored: StoredRun } | Repeated> {
  const stored = await storedRun(db, runId);
  if (isRepeated(stored, finalizing)) return { outcome: 'repeated', stored };
  if (finalizing.ifMatch === null) throw etagRequired('run or readiness report');
  if (stored.state === 'voided') throw notFinalized(stored);
  if (stored.state === 'finalized') {
    const etag = stored.etag as string;
    const why = `The run was finalized with other lines. Their ETag is "${etag}". Review them, and void the run if they are wrong.`;
    throw reviewAgain(etag, why);
  }
  const holder = stored.kind === 'off_cycle' ? null : await runOnPayDate(db, runId, stored);
  if (holder === null) return { outcome: 'open', stored };
  throw conflict(
    `The run ${holder} is already finalized for this pay date, frequency and pay group. Void it first, or delete this one.`,
  );
}

/** A written freeze: the number of its rows, the summary of its lines, and the columns for the basis. */
type Frozen = { freezeId: string; rows: number; summary: Summary; basis: ReturnType<typeof columnsOfBasis> };

/** Writes the lines and settlements of a run under a freeze, which begins with its first page: each commit waits for the disk. */
async function writeLines(
  db: Db,
  computation: Computation,
  freezeId: string,
  sharedNow: SharedNow,
): Promise<Frozen> {
  const { basis } = computation;
  let rows = basis.earlier.length;
  let isBegun = false;
  const write = async (lines: readonly unknown[][], settlements: readonly Settlement[]): Promise<void> => {
    await transact(db, async (trx) => {
      if (isBegun) await renewFreeze(trx, freezeId, sharedNow);
      else await beginFreeze(trx, freezeId, basis.earlier, sharedNow);
      await insertLines(trx, lines);
      await insertSettlements(trx, settlements);
    });
    isBegun = true;
    rows += lines.length + settlements.length;
  };
  const summary = await summarize(db, computation, async (page, texts) => {
    const lines = page.flatMap(({ employee: { employeeId, membership }, lines }, index) => {
      const position = membership.isIn ? membership.employment.position : null;
      const isWritten = membership.isIn || lines.length > 0;
      return isWritten ? [[freezeId, employeeId, position, texts[index]]] : [];
    });
    await write(
      lines,
      page.flatMap(({ lines }) => settlementsOf(freezeId, lines)),
    );
  });
  // An employer may have no employees.
  if (!isBegun) await write([], []);
  // Hashed before the transaction that makes the run final, because a basis may be megabytes.
  return { freezeId, rows, summary, basis: columnsOfBasis(basis) };
}

/**
 * The findings of a report that can be accepted, and the findings that earlier acceptances cover. `acceptedCount`: how many
 * findings had been accepted for the open run when the report was made.
 */
type Reviewed = {
  acceptable: readonly AcceptableFinding[];
  remembered: readonly RememberedFinding[];
  acceptedCount: number;
};

/** Returns the findings to accept. Throws if the lines or the readiness report are not the reviewed and accepted ones. */
async function review(
  db: Db,
  computation: Computation,
  summary: Summary,
  finalizing: Finalizing,
  checkReadiness: CheckReadiness,
): Promise<Reviewed> {
  const { ifMatch, accept } = finalizing;
  const { etag } = summary;
  const isStale = ifMatch === null || linesEtagOf(ifMatch) !== etag;
  if (isStale && accept === null) {
    const why = `The lines changed since they were reviewed. Review them again, then send their current ETag, "${etag}".`;
    throw reviewAgain(etag, why);
  }
  const acceptedCount = await countAcceptances(db, computation.runId as string);
  const report = await checkReadiness(computation, summary);
  // With `accept` only the ETag of the readiness report helps: the ETag of the lines would be refused again.
  if (isStale) throw findingsChanged(report);
  const { acceptable, remembered } = report;
  const approval = await approvalOf(db, computation, summary, acceptable, finalizing);
  if (approval.state === 'missing') throw approvalMissing('finalize');
  if (approval.state === 'given') return { acceptable, remembered, acceptedCount };
  const findings = acceptedFindings(acceptable, approval, accept);
  if (acceptable.some((finding) => finding.result === 'fail' && !findings.includes(finding)))
    throw notReady(report, accept?.checks);
  if (findings.length > 0 && ifMatch !== report.etag) throw findingsChanged(report);
  return { acceptable, remembered, acceptedCount };
}

function findingsChanged({ etag }: ReadinessReport): AppError {
  const why = `To accept findings, send the ETag of the readiness report that was reviewed. It is "${etag}" now: review it first.`;
  return reviewAgain(etag, why);
}

async function approvalOf(
  db: Db | Trx,
  { runId, basis }: Computation,
  { etag }: Summary,
  acceptable: readonly AcceptableFinding[],
  { actor, person = null, sharedNow }: Finalizing,
): Promise<ApprovalState> {
  const run = {
    runId: runId as string,
    employerId: basis.run.employer_id,
    action: 'finalize',
    etag,
  } as const;
  const failed = acceptable.filter(({ result }) => result === 'fail');
  return approvalFor(db, run, failed, { actor, person }, (await sharedNow(db)).toISOString());
}

/** Returns the findings that the approval covers, or without one, of the checks that the request names. */
function acceptedFindings(
  acceptable: readonly AcceptableFinding[],
  approval: ApprovalState,
  accept: Acceptance | null,
): AcceptableFinding[] {
  return acceptable.filter((finding) =>
    approval.state === 'given'
      ? approval.approval.findings.has(findingHash(finding))
      : accept?.checks.includes(finding.checkId) === true,
  );
}

/** Reports whether this request, or one with the same ETag, finalized the run. */
function isRepeated(stored: StoredRun, { ifMatch, idempotencyKey }: Finalizing): boolean {
  if (stored.state !== 'finalized') return false;
  const isSameKey = idempotencyKey != null && stored.finalize_key_hash === hashOf(idempotencyKey);
  return isSameKey || (ifMatch !== null && linesEtagOf(ifMatch) === stored.etag);
}

/**
 * Makes the run final, and returns null. Returns the run if an earlier request with the same ETag or key did. Throws if
 * another caller finalized or removed it, or changed its inputs.
 */
async function makeFinal(
  trx: Trx,
  computation: Computation,
  { freezeId, rows, summary, basis: basisColumns }: Frozen,
  { acceptable, remembered, acceptedCount }: Reviewed,
  finalizing: Finalizing,
): Promise<Repeated | null> {
  const { idempotencyKey, actor, sharedNow } = finalizing;
  const { runId, basis } = computation;
  const now = (await sharedNow(trx)).toISOString();
  await lockPayroll(trx);
  await renewFreeze(trx, freezeId, sharedNow);
  const open = await findOpen(trx, runId as string, finalizing);
  if (open.outcome === 'repeated') return open;
  const today = await resolveBasis(trx, runId, bodyOf(open.stored));
  // Newer ledger positions do not matter, because the lines are computed at the frozen position.
  if (!isSameBasis(basis, today)) throw payrollChanged();
  // An assignment is refused only for runs that are final, so the run must be computed with it.
  if (await isAnyAssignedAfter(trx, basis.position)) throw payrollChanged();
  // Nothing removes rows of a freeze that is being written, so this finds only what was done by hand.
  if ((await countFrozen(trx, freezeId)) !== rows) throw payrollChanged();
  const ids = { runId: runId as string, employerId: basis.run.employer_id };
  // The acceptances of the review replace the stored ones below, and would drop one that was made since.
  if ((await countAcceptances(trx, ids.runId)) !== acceptedCount) throw payrollChanged();
  const approved = await approvalOf(trx, computation, summary, acceptable, finalizing);
  if (approved.state === 'missing') throw approvalMissing('finalize');
  const approval = approved.state === 'given' ? approved.approval : null;
  const accept = approval ?? finalizing.accept;
  const findings = acceptedFindings(acceptable, approved, finalizing.accept);
  const accepted = [...new Set(findings.map(({ checkId }) => checkId))];
  // A run without accepted findings needs no reason.
  const reason = findings.length > 0 ? (accept?.reason ?? null) : null;
  // The record of the approval has its reason, and erasing it there must leave no copy.
  const made = { by: actor, at: now, reason: approval === null ? reason : null };
  const recordId = (await lockHead(trx)).record_id + 1;
  // The person who approved also accepted the findings.
  const named = findings.map((finding) => ({ ...finding, recordId: approval?.recordId ?? recordId }));
  const acceptances = await acceptancesWith(trx, ids, [...named, ...remembered], [[recordId, made]]);
  const outcome = JSON.stringify({
    ...summary.outcome,
    accepted_checks: accepted,
    approval_id: approval?.id ?? null,
    acceptances_hash: acceptances.hash,
  } satisfies FrozenOutcome);
  const columns = {
    finalized_at: now,
    freeze_id: freezeId,
    position: basis.position,
    rules_version: RULES_VERSION,
    finalize_key_hash: idempotencyKey == null ? null : hashOf(idempotencyKey),
    etag: summary.etag,
    ...basisColumns,
    outcome,
    outcome_hash: hashOf(outcome),
    totals: JSON.stringify(summary.totals),
    accept_reason: findings.length > 0 ? acceptances.reason : null,
  };
  const finalize = { action: 'run.finalize', resource: ids.runId, employer: ids.employerId } as const;
  const details = {
    ...{ etag: summary.etag, position: basis.position, accepted_checks: accepted },
    ...(approval !== null && { approval_id: approval.id }),
    content_hash: hashOfFinal(columns),
  };
  await record(trx, { actor, now }, { ...finalize, details, reason: made.reason });
  await notify(trx, 'run.finalized', notifiedRun(open.stored), now);
  await removeAcceptances(trx, ids.runId);
  await insertAcceptances(trx, acceptances.rows);
  await setFinalized(trx, ids.runId, columns);
  await endFreeze(trx, freezeId);
  return null;
}

function payrollChanged(): AppError {
  return conflict(
    'Payroll data changed while the run was being finalized. Review the run, then finalize it again.',
  );
}
