/** Approvals of finalizing and voiding runs: by a person, of lines with an ETag, with named readiness findings. */
import Type, { type Static } from 'typebox';
import type { AcceptableFinding } from '../../checks.ts';
import { component, nullableText, oneOf, text } from '../../contract/fields.ts';
import { isOneOf } from '../../database/bulk.ts';
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { AppError } from '../../errors.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { forget, notifyOnce } from '../../notifications/known.ts';
import { runSubject } from '../../notifications/types.ts';
import { type Acting, Actor, type Made, record } from '../../security/audit.ts';
import { type Fact, insertFacts, withMakers } from '../../security/facts.ts';
import { endsOfMakers, isSamePerson } from '../../security/tokens.ts';
import { recordsOfResources } from '../../security/verify-recorded.ts';
import { isApprovalRequired } from '../settings/approval.ts';
import { hashOf } from './basis.ts';

export const APPROVED_ACTIONS = ['finalize', 'void'] as const;
export type ApprovedAction = (typeof APPROVED_ACTIONS)[number];

export const Approval = component(
  'PayrollRunApproval',
  {
    id: text('The ID of the approval.'),
    run_id: text('The run.'),
    action: { ...oneOf(APPROVED_ACTIONS), description: 'What may be done with the run.' },
    etag: text('The ETag of the approved lines.'),
    accepted_checks: Type.Array(Type.String(), {
      description: 'The checks whose findings at the time of the approval are accepted.',
    }),
    reason: text('The reason that the person gave. Empty after it was erased.'),
    approved_by: Actor,
    approved_at: text('The time of the approval.'),
    ended_at: nullableText(
      'When it was withdrawn, or the token that gave it was revoked or expired. Null if neither happened; then it counts while the lines have its `etag` and no other finding fails.',
    ),
  },
  'An approval by a person. It covers these lines and findings only.',
);
export type Approval = Static<typeof Approval>;

/** An approval with the person who gave it, and the hashes of the findings that it covers. */
export type StoredApproval = Approval & { recordId: number; person: string; findings: ReadonlySet<string> };

export type NewApproval = {
  runId: string;
  employerId: string;
  action: ApprovedAction;
  etag: string;
  person: string;
  checks: readonly string[];
  findings: readonly AcceptableFinding[];
  reason: string;
};

/** Tells once that a run waits for another person, until one approves it. */
export async function requestApproval(
  trx: Trx,
  { run_id, employer_id, pay_date }: Pick<Tables['payroll_runs'], 'run_id' | 'employer_id' | 'pay_date'>,
  action: ApprovedAction,
  now: string,
): Promise<void> {
  await notifyOnce(trx, 'approval.requested', { employer_id, action, run_id, pay_date }, now);
}

/** Returns the refusal of finalizing or voiding without an approval. */
export function approvalMissing(action: ApprovedAction): AppError {
  return new AppError(
    'APPROVAL_MISSING',
    `This employer requires a second approval. Another person must approve it with POST …/approval, action "${action}", ` +
      'for the current lines and findings. Then a person, or the command line, can do it.',
  );
}

const readTexts = jsonColumn('run_approvals', 'findings', Type.Array(Type.String()));

/** Returns the hash by which an approval covers exactly this finding. */
export function findingHash({ checkId, employeeId, ids, result, finding }: AcceptableFinding): string {
  return hashOf(JSON.stringify([checkId, result, employeeId, ids.toSorted(), finding.text]));
}

export const APPROVAL: Fact<'run_approvals'> = {
  table: 'run_approvals',
  actions: ['run.approve'],
  subject: { resource: 'run_id' },
  removedBy: { all: 'run.delete' },
};

/** Stores an approval and returns its id. */
export async function insertApproval(trx: Trx, approval: NewApproval, acting: Acting): Promise<number> {
  const { runId, employerId, action, etag, person, checks, reason } = approval;
  const findings = JSON.stringify(approval.findings.map(findingHash));
  const content = { run_id: runId, action, etag, person, checks: JSON.stringify(checks), findings };
  await forget(trx, runSubject(runId), 'approval.requested');
  const [row] = await insertFacts(trx, APPROVAL, [content], acting, {
    ...{ employer: employerId, reason },
    details: { action, etag, person, accepted_checks: checks },
  });
  return (row as Tables['run_approvals']).record_id;
}

/** Returns the approvals of a run, newest first, as they count at an instant. */
export async function approvalsOf(db: Db | Trx, runId: string, now: string): Promise<StoredApproval[]> {
  const query = db.selectFrom('run_approvals').selectAll('run_approvals').where('run_id', '=', runId);
  const rows = await withMakers(query.orderBy('record_id', 'desc'));
  const ends = await endsOf(db, rows, now);
  return rows.map(({ record_id, run_id, action, etag, person, checks, findings, made }) => {
    const approval = { id: String(record_id), run_id, action, etag, reason: made.reason ?? '' };
    return {
      ...approval,
      accepted_checks: readTexts(checks, run_id),
      approved_by: made.by,
      approved_at: made.at,
      ended_at: ends.get(record_id) ?? null,
      recordId: record_id,
      person,
      findings: new Set(readTexts(findings, run_id)),
    };
  });
}

/** Returns since when approvals no longer count, by record id. */
async function endsOf(
  db: Db | Trx,
  approvals: readonly { record_id: number; run_id: string; made: Made }[],
  now: string,
): Promise<Map<number, string>> {
  if (approvals.length === 0) return new Map();
  const runIds = [...new Set(approvals.map(({ run_id }) => run_id))];
  const withdrawn = await recordsOfResources(db, ['run.approval-withdraw'], runIds);
  const byApproval = new Map(
    [...withdrawn.values()].flat().map(({ details, recorded_at }) => [details.approval_id, recorded_at]),
  );
  const tokens = await endsOfMakers(db, approvals, now);
  return new Map(
    approvals.flatMap(({ record_id }) => {
      const times = [byApproval.get(String(record_id)), tokens.get(record_id)];
      const ended = times.filter((at) => at !== undefined).sort()[0];
      return ended === undefined ? [] : [[record_id, ended] as const];
    }),
  );
}

/**
 * Withdraws the approvals of a run that a person gave and that still count. Returns their number. The caller holds the payroll
 * lock, so that no run becomes final by them in between.
 */
export async function withdrawApprovals(
  trx: Trx,
  { runId, employerId }: { runId: string; employerId: string },
  person: string,
  acting: Acting,
): Promise<number> {
  const approvals = (await approvalsOf(trx, runId, acting.now)).filter(
    (approval) => approval.ended_at === null && isSamePerson(approval.person, person),
  );
  for (const { id, action } of approvals)
    await record(trx, acting, {
      action: 'run.approval-withdraw',
      resource: runId,
      employer: employerId,
      details: { approval_id: id, action },
    });
  return approvals.length;
}

/** The lines and the hashes of the findings that an approval of finalizing covers, and the person who gave it. */
export type ApprovedLines = Pick<StoredApproval, 'etag' | 'findings' | 'person'>;

/** Returns what approvals of finalizing cover, by run id. */
export async function approvedLines(
  db: Db | Trx,
  runIds: readonly string[],
  now: string,
): Promise<Map<string, ApprovedLines[]>> {
  if (runIds.length === 0) return new Map();
  const query = db
    .selectFrom('run_approvals')
    .select(['record_id', 'run_id', 'etag', 'findings', 'person'])
    .where('action', '=', 'finalize')
    .where(isOneOf(db, 'run_id', runIds));
  const rows = await withMakers(query);
  const ends = await endsOf(db, rows, now);
  const counting = rows.filter(({ record_id }) => !ends.has(record_id));
  const approved = counting.map(({ run_id, etag, findings, person }) => ({
    run_id,
    etag,
    findings: new Set(readTexts(findings, run_id)),
    person,
  }));
  return Map.groupBy(approved, ({ run_id }) => run_id);
}

export function viewApproval({
  recordId: _,
  person: __,
  findings: ___,
  ...approval
}: StoredApproval): Approval {
  return approval;
}

/** The actor that finalizes or voids. `person` is null for a program and for the command line. */
type Requester = { actor: Actor; person: string | null };

/** `not-required`: the employer needs none. */
export type ApprovalState =
  | { state: 'not-required' | 'missing' }
  | { state: 'given'; approval: StoredApproval };

/** What is finalized or voided: the lines with this ETag. */
type ApprovedRun = { runId: string; employerId: string; action: ApprovedAction; etag: string };

/**
 * Returns the approval with which a run may be finalized or voided now. Another person gave it for these lines, and it covers
 * every failed finding. The command line needs one too, from any person; a token without a person gets none.
 */
export async function approvalFor(
  db: Db | Trx,
  run: ApprovedRun,
  failed: readonly AcceptableFinding[],
  { actor, person }: Requester,
  now: string,
): Promise<ApprovalState> {
  if (!(await isApprovalRequired(db, run.employerId))) return { state: 'not-required' };
  if (person === null && actor.kind !== 'cli') return { state: 'missing' };
  const approval = (await countingApprovals(db, run, failed, now)).find(isByAnother(person));
  return approval === undefined ? { state: 'missing' } : { state: 'given', approval };
}

/** What a person sees of the approval of a run. `yours`: only that person gave it, so another one must finalize the run. */
export const APPROVALS_SEEN = ['missing', 'given', 'yours'] as const;
export type ApprovalSeen = (typeof APPROVALS_SEEN)[number];

/** Returns the approval of a run as a person sees it, null for none. Null if the employer requires no approval. */
export async function approvalSeenBy(
  db: Db,
  run: ApprovedRun,
  failed: readonly AcceptableFinding[],
  person: string | null,
  now: string,
): Promise<{ state: ApprovalSeen; approved_by: Actor | null } | null> {
  if (!(await isApprovalRequired(db, run.employerId))) return null;
  const counting = await countingApprovals(db, run, failed, now);
  const byAnother = counting.find(isByAnother(person));
  const approved_by = (byAnother ?? counting[0])?.approved_by ?? null;
  const state = approved_by === null ? 'missing' : byAnother === undefined ? 'yours' : 'given';
  return { state, approved_by };
}

/** Why an approval no longer counts. */
export const APPROVAL_ENDS = ['ended', 'lines_changed', 'finding_failed'] as const;
export type ApprovalEnd = (typeof APPROVAL_ENDS)[number];

/** Returns why an approval does not cover these lines and failed findings; null if it does. */
export function whyEnded(
  { ended_at, etag, findings }: StoredApproval,
  covered: { etag: string | null; failed: readonly AcceptableFinding[] },
): ApprovalEnd | null {
  if (ended_at !== null) return 'ended';
  if (etag !== covered.etag) return 'lines_changed';
  return covered.failed.every((finding) => findings.has(findingHash(finding))) ? null : 'finding_failed';
}

/** Returns the approvals that cover these lines and failed findings, newest first. */
async function countingApprovals(
  db: Db | Trx,
  { runId, action, etag }: ApprovedRun,
  failed: readonly AcceptableFinding[],
  now: string,
): Promise<StoredApproval[]> {
  return (await approvalsOf(db, runId, now)).filter(
    (approval) => approval.action === action && whyEnded(approval, { etag, failed }) === null,
  );
}

const isByAnother = (person: string | null) => (approval: StoredApproval) =>
  person === null || !isSamePerson(approval.person, person);

/** Removes the approvals of an open run that is being deleted. */
export async function removeApprovalsOf(trx: Trx, runId: string): Promise<void> {
  await trx.deleteFrom('run_approvals').where('run_id', '=', runId).execute();
}
