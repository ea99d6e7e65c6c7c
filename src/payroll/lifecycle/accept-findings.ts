/** Accepts readiness findings of an open run before it is finalized. */
import type { AcceptableFinding, ReadinessReport } from '../../checks.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { conflict } from '../../errors.ts';
import { type Acting, record } from '../../security/audit.ts';
import { lockHead } from '../../security/audit-chain.ts';
import { contentHash } from '../../security/facts.ts';
import { recordsOfResources } from '../../security/verify-recorded.ts';
import { approvedLines } from '../records/approvals.ts';
import { dropComputation } from '../records/computations.ts';
import { openRun, type StoredRun } from '../records/runs.ts';
import { isApprovalRequired } from '../settings/approval.ts';
import { lockPayroll } from '../settings/lock.ts';
import {
  type Acceptance,
  acceptancesOf,
  acceptancesWith,
  countAcceptances,
  insertAcceptances,
  rememberedAcceptances,
} from './acceptances.ts';
import { assertReviewed } from './reviewed.ts';

/** `ifMatch`: the ETag of the readiness report that was reviewed. */
export type Accepting = Acceptance & Acting & { ifMatch: string };

/**
 * Accepts the findings of some checks in the reviewed report, and returns the run and their number. Throws NOT_FOUND, CONFLICT
 * or PRECONDITION_FAILED.
 */
export async function acceptFindings(
  db: Db,
  runId: string,
  accepting: Accepting,
  checkReadiness: (stored: StoredRun) => Promise<ReadinessReport>,
): Promise<{ stored: StoredRun; count: number }> {
  const { checks, ifMatch } = accepting;
  const stored = await openRun(db, runId);
  await assertOnePersonAccepts(db, stored, accepting.now);
  const report = await checkReadiness(stored);
  assertReviewed(report, ifMatch);
  const findings = report.acceptable.filter(({ checkId }) => checks.includes(checkId));
  const without = checks.filter((id) => !findings.some(({ checkId }) => checkId === id));
  if (without.length > 0)
    throw conflict(`These checks have no finding that can be accepted: ${without.join(', ')}.`);
  await transact(db, async (trx) => {
    await lockPayroll(trx);
    await openRun(trx, runId);
    await assertOnePersonAccepts(trx, stored, accepting.now);
    await addAcceptances(trx, stored, findings, accepting);
  });
  return { stored, count: findings.length };
}

/** Throws if an approval must accept the findings: the employer requires one, or another person approved the run without them. */
async function assertOnePersonAccepts(
  db: Db | Trx,
  { run_id, employer_id }: StoredRun,
  now: string,
): Promise<void> {
  const isApproved = (await approvedLines(db, [run_id], now)).has(run_id);
  if (isApproved || (await isApprovalRequired(db, employer_id)))
    throw conflict(
      'Findings of this run are accepted with its second approval. Name their checks in "accept" of POST …/approval.',
    );
}

async function addAcceptances(
  trx: Trx,
  { run_id: runId, employer_id: employerId }: StoredRun,
  findings: readonly AcceptableFinding[],
  { checks, reason, actor, now }: Accepting,
): Promise<void> {
  const acceptanceOf = await rememberedAcceptances(trx, employerId, runId);
  if (findings.some((finding) => acceptanceOf(finding) !== null))
    throw conflict('Another request accepted these findings at the same time. Review the run again.');
  const first = await countAcceptances(trx, runId);
  const recordId = (await lockHead(trx)).record_id + 1;
  const named = findings.map((finding) => ({ ...finding, recordId }));
  const made = { by: actor, at: now, reason };
  const acceptances = await acceptancesWith(trx, { runId, employerId }, named, [[recordId, made]]);
  const rows = acceptances.rows.map((row) => ({ ...row, ordinal: first + row.ordinal }));
  const details = { accepted_checks: checks, findings: rows.length, content_hash: contentHash(rows) };
  const about = { action: 'run.accept-findings', resource: runId, employer: employerId } as const;
  await record(trx, { actor, now }, { ...about, details, reason });
  await insertAcceptances(trx, rows);
  await dropComputation(trx, runId);
}

/** Reports whether the acceptances of an open run differ from its audit records. */
export async function isOtherThanAccepted(db: Db, runId: string): Promise<boolean> {
  const records = await recordsOfResources(db, ['run.accept-findings', 'run.delete'], [runId]);
  const ofId = records.get(runId) ?? [];
  // The id may have been used for a run that was deleted.
  const made = ofId.slice(ofId.findLastIndex(({ action }) => action === 'run.delete') + 1);
  const { rows } = await acceptancesOf(db, runId);
  const byRecord = Map.groupBy(rows, ({ record_id }) => record_id);
  return (
    byRecord.size !== made.length ||
    made.some(({ record_id, details }) => details.content_hash !== contentHash(byRecord.get(record_id) ?? []))
  );
}
