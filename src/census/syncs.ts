/** Census syncs: each request for a census opens one. Several may share an upload. All times are texts. */
import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql, type Updateable } from 'kysely';
import { describe } from '../contract/check.ts';
import { employersIn } from '../database/bulk.ts';
import type { CensusSyncTable, Db, SyncState, Trx } from '../database/tables.ts';
import { conflict, notFound, type Problem, withoutHint } from '../errors.ts';
import { notify } from '../notifications/store.ts';
import { CENSUS_NEEDED, type CensusReason } from '../notifications/types.ts';
import { SENDING_OFF } from '../outbox/pilot.ts';
import { employerSubject, enqueue, lockSubject, makeDue, pendingRequest } from '../outbox/queue.ts';
import { type Acting, record, recordAll, SYSTEM } from '../security/audit.ts';
import type { ReasonColumn } from '../security/reasons.ts';
import type { CensusHold } from './holds.ts';
import { isOverdue } from './sync-list.ts';

type SyncRequest = { employerId: string; now: string };

/** Opens a sync for the service's request. The same event has no second effect. */
export async function requestSync(trx: Trx, request: SyncRequest & { eventId: string }): Promise<void> {
  const known = await trx
    .selectFrom('census_syncs')
    .select('sync_id')
    .where('event_id', '=', request.eventId)
    .executeTakeFirst();
  if (known === undefined) await openSync(trx, request, await owedUpload(trx, request));
}

/** Opens a sync for an operator's request, and makes a pending upload due now. Returns the sync's id. */
export async function requestSyncManually(trx: Trx, request: SyncRequest & Acting): Promise<string> {
  const requestId = await owedUpload(trx, request);
  await makeDue(trx, requestId, request.now);
  const syncId = await openSync(trx, { ...request, eventId: null }, requestId);
  const employer = request.employerId;
  await record(trx, request, { action: 'census-sync.request', resource: syncId, employer });
  return syncId;
}

async function openSync(
  trx: Trx,
  { employerId: employer_id, eventId: event_id, now }: SyncRequest & { eventId: string | null },
  request_id: string,
): Promise<string> {
  const sync_id = randomUUID();
  const sync = { sync_id, employer_id, event_id, request_id, state: 'requested', requested_at: now } as const;
  await trx.insertInto('census_syncs').values(sync).execute();
  return sync_id;
}

/** Returns the pending upload or a new one. One that is being sent may have read the census already. */
async function owedUpload(trx: Trx, { employerId, now }: SyncRequest): Promise<string> {
  const subject = employerSubject(employerId);
  await lockSubject(trx, subject);
  const pending = await pendingRequest(trx, 'census', subject);
  if (pending !== null) return pending;
  const requestId = randomUUID();
  await enqueue(trx, [{ requestId, kind: 'census', ...subject, encrypted: null }], now);
  return requestId;
}

const NO_REASON = {
  ...{ reason: null, problem_count: 0, problems: null },
  ...{ held_census_id: null, held_for: null },
} as const;

/** Completes the employer's syncs, also dismissed ones, whose upload had started when the service reported completion. */
export async function completeSyncs(
  trx: Trx,
  { employerId, eventId, receivedAt, now }: SyncRequest & { eventId: string; receivedAt: string },
): Promise<number> {
  await lockSubject(trx, employerSubject(employerId));
  await trx
    .insertInto('census_completions')
    .values({ event_id: eventId, employer_id: employerId })
    .onConflict((conflict) => conflict.column('event_id').doNothing())
    .execute();
  const completed = await trx
    .updateTable('census_syncs')
    .set({ state: 'completed', completed_at: now, ...NO_REASON })
    .where('employer_id', '=', employerId)
    .where(sql<boolean>`state <> 'completed'`)
    // An upload cannot start in the future: the clock was set back since.
    .where((where) =>
      where.or([where('upload_started_at', '<=', receivedAt), where('upload_started_at', '>', now)]),
    )
    .executeTakeFirst();
  return Number(completed.numUpdatedRows);
}

/** The states of a sync that needs another census, or a decision of a person. */
const STALLED = CENSUS_NEEDED;

/** Requests the employer's syncs in these states again, with the upload under way or a pending or new one. */
export async function reviveSyncs(
  trx: Trx,
  { employerId, uploading, now }: { employerId: string; uploading: string | null; now: string },
  states: readonly SyncState[] = STALLED,
): Promise<void> {
  // The first condition lets a partial index be used.
  const isStalled = sql<boolean>`state <> 'completed' and state in (${sql.join(states)})`;
  const stalled = trx.selectFrom('census_syncs').select('sync_id').where('employer_id', '=', employerId);
  if ((await stalled.where(isStalled).limit(1).execute()).length === 0) return;
  const requestId = uploading ?? (await owedUpload(trx, { employerId, now }));
  if (uploading === null) await makeDue(trx, requestId, now);
  await trx
    .updateTable('census_syncs')
    .set({ state: 'requested', request_id: requestId, ...NO_REASON })
    .where('employer_id', '=', employerId)
    .where(isStalled)
    .execute();
}

/** Returns the employers for which a census was ever requested. `employers`: only these; null for all. */
export function employersWithSyncs(db: Db | Trx, employers: readonly string[] | null): Promise<Set<string>> {
  return employersIn(db, 'census_syncs', employers);
}

/** A sync that was requested before `overdueBefore` is overdue. */
type Dismissal = { reason: string; overdueBefore: string } & Acting;

/**
 * Dismisses a sync for which readiness fails. The first reason stays when it is dismissed again. Returns whether anything changed.
 * Throws NOT_FOUND or CONFLICT.
 */
export async function dismissSync(trx: Trx, syncId: string, dismissal: Dismissal): Promise<boolean> {
  const { reason, overdueBefore, now } = dismissal;
  const named = trx.selectFrom('census_syncs').selectAll().where('sync_id', '=', syncId);
  const known = await named.executeTakeFirst();
  if (known === undefined) throw notFound('census sync');
  // Stagings and uploads move syncs under this lock.
  await lockSubject(trx, employerSubject(known.employer_id));
  const sync = await named.executeTakeFirstOrThrow();
  if (sync.state === 'dismissed') return false;
  if (!STALLED.some((state) => state === sync.state) && !isOverdue(sync, overdueBefore))
    throw conflict('The census sync is not waiting, held, failed or overdue.');
  await trx
    .updateTable('census_syncs')
    .set({ state: 'dismissed', dismissed_at: now, dismissed_reason: reason })
    .where('sync_id', '=', syncId)
    .execute();
  // The send loop then cancels a pending upload that no other sync needs.
  if (sync.request_id !== null) await makeDue(trx, sync.request_id, now);
  const employer = sync.employer_id;
  await record(trx, dismissal, { action: 'census-sync.dismiss', resource: syncId, employer, reason });
  return true;
}

/** Dismisses the unfinished syncs of an upload, or all, because sending is off. */
export async function dismissUnsent(trx: Trx, now: string, requestId?: string): Promise<void> {
  const of = requestId === undefined ? {} : { request_id: requestId };
  await dismissUnfinished(trx, { actor: SYSTEM, now }, SENDING_OFF, of);
}

/** Dismisses the unfinished syncs of an employer whose census is erased, and returns how many. */
export async function dismissOfEmployer(
  trx: Trx,
  acting: Acting,
  employerId: string,
  reason: string,
): Promise<number> {
  const dismissed = await dismissUnfinished(trx, acting, reason, { employer_id: employerId });
  // The send loop then cancels their uploads.
  for (const { request_id } of dismissed) if (request_id !== null) await makeDue(trx, request_id, acting.now);
  return dismissed.length;
}

async function dismissUnfinished(
  trx: Trx,
  acting: Acting,
  reason: string,
  of: { request_id?: string; employer_id?: string },
) {
  let query = trx.updateTable('census_syncs');
  for (const [column, id] of Object.entries(of)) query = query.where(column as keyof typeof of, '=', id);
  const dismissed = await query
    .set({ state: 'dismissed', dismissed_at: acting.now, dismissed_reason: reason })
    // The first condition lets a partial index be used.
    .where(sql<boolean>`state <> 'completed' and state in (${sql.join([...UNFINISHED, 'held'])})`)
    .returning(['sync_id', 'employer_id', 'request_id'])
    .execute();
  const action = { action: 'census-sync.dismiss', reason } as const;
  await recordAll(
    trx,
    dismissed.map(({ sync_id: resource, employer_id: employer }) => {
      return { ...acting, ...action, resource, employer };
    }),
  );
  return dismissed;
}

export async function hasCensusSyncs(db: Db | Trx, employerId: string): Promise<boolean> {
  const row = await db
    .selectFrom('census_syncs')
    .select('sync_id')
    .where('employer_id', '=', employerId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The states of a sync that still needs an upload. */
const UNFINISHED = ['requested', 'waiting', 'failed'] as const;

/** Returns when the newest of the upload's syncs was requested, or null if none waits for it. */
export async function wantedSince(db: Db, requestId: string): Promise<string | null> {
  const newest = await db
    .selectFrom('census_syncs')
    .select('requested_at')
    .where('request_id', '=', requestId)
    .where('state', 'in', UNFINISHED)
    .orderBy('requested_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.requested_at ?? null;
}

/** Why a sync needs payroll or a person: `code` for programs, `reason` for people. */
export type Need = { code: CensusReason; reason: string; now: string };

/** No census exists that can be sent; payroll must provide one. */
export function awaitCensus(trx: Trx, requestId: string, need: Need): Promise<void> {
  return stall(trx, requestId, need, { state: 'waiting', problem_count: 0, problems: null });
}

/** Returns why a sync waits if the census is not as its file format. */
export function formatReason(problems: readonly Problem[]): string {
  const [first] = problems.map((problem) => describe(withoutHint(problem)));
  const more = problems.length > 1 ? `; and ${problems.length - 1} more` : '';
  return `the census is not as its file format: ${first}${more}`;
}

/** Sets why the employer's syncs still wait: payroll provided a census that was refused. */
export async function stillAwait(trx: Trx, employerId: string, need: Need): Promise<void> {
  // The first condition lets a partial index be used.
  const isWaiting = sql<boolean>`state <> 'completed' and state = 'waiting' and employer_id = ${employerId}`;
  await tellNeed(trx, isWaiting, 'waiting', need);
  await trx.updateTable('census_syncs').set({ reason: need.reason }).where(isWaiting).execute();
}

/** A person must release the census, or stage another one. */
export function holdSyncs(
  trx: Trx,
  requestId: string,
  need: Need,
  { censusId: held_census_id, holds }: { censusId: string; holds: readonly CensusHold[] },
): Promise<void> {
  const to = { state: 'held', held_census_id, held_for: JSON.stringify(holds) } as const;
  return stall(trx, requestId, need, { ...to, problem_count: 0, problems: null });
}

/** The census cannot be sent as it is. */
export function failSyncs(
  trx: Trx,
  requestId: string,
  need: Need,
  findings: { problemCount: number; problems: readonly Problem[] } | null = null,
): Promise<void> {
  const problems = findings === null ? null : JSON.stringify(findings.problems.map(withoutHint));
  const to = { state: 'failed', problem_count: findings?.problemCount ?? 0, problems } as const;
  return stall(trx, requestId, need, to);
}

async function stall(
  trx: Trx,
  requestId: string,
  need: Need,
  to: Updateable<CensusSyncTable> & { state: (typeof STALLED)[number] },
): Promise<void> {
  const concerned = sql<boolean>`request_id = ${requestId} and state in (${sql.join(UNFINISHED)})`;
  await tellNeed(trx, concerned, to.state, need);
  await move(trx, requestId, UNFINISHED, { ...to, reason: need.reason });
}

/** Tells of the newest of the syncs, which are of one employer, if their state or its reason changes. */
async function tellNeed(
  trx: Trx,
  concerned: RawBuilder<boolean>,
  state: (typeof STALLED)[number],
  { code, reason, now }: Need,
): Promise<void> {
  const newest = await trx
    .selectFrom('census_syncs')
    .select(['sync_id', 'employer_id'])
    .where(concerned)
    .where((where) =>
      where.or([where('state', '<>', state), sql<boolean>`reason is distinct from ${reason}`]),
    )
    .orderBy('requested_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (newest !== undefined) await notify(trx, 'census.needed', { ...newest, state, reason: code }, now);
}

/** The upload is delayed, and the reason is shown. A failed sync keeps its own reason. */
export function noteReason(trx: Trx, requestId: string, reason: string): Promise<void> {
  return move(trx, requestId, ['requested'], { reason });
}

/** The upload starts. An earlier start stays recorded: what it sent may have been processed. */
export async function uploadStarted(trx: Trx, requestId: string, now: string): Promise<void> {
  await move(trx, requestId, UNFINISHED, { state: 'requested', ...NO_REASON });
  await trx
    .updateTable('census_syncs')
    .set({ upload_started_at: now })
    .where('request_id', '=', requestId)
    .where('state', '=', 'requested')
    .where('upload_started_at', 'is', null)
    .execute();
}

/**
 * The service accepted the census in an attempt that started at `began`. A sync that is completed already, because the
 * event was faster than the response, gets only the time, unless an earlier attempt served it.
 */
export async function uploadDelivered(
  trx: Trx,
  requestId: string,
  { began, now }: { began: string; now: string },
): Promise<void> {
  await move(trx, requestId, ['requested'], { state: 'uploaded', uploaded_at: now });
  await trx
    .updateTable('census_syncs')
    .set({ uploaded_at: now })
    .where('request_id', '=', requestId)
    .where('state', '=', 'completed')
    .where('uploaded_at', 'is', null)
    // The clock may have been set back since.
    .where((where) => where.or([where('upload_started_at', '=', began), where('completed_at', '>=', began)]))
    .execute();
}

/** The service certainly did not accept this upload: a completion that arrives now is for another one. */
export function uploadNotTaken(trx: Trx, requestId: string): Promise<void> {
  return move(trx, requestId, ['requested'], { upload_started_at: null });
}

export function moveSyncs(trx: Trx, kept: string, canceled: string): Promise<void> {
  return move(trx, canceled, [...UNFINISHED, 'uploaded'], { request_id: kept });
}

async function move(
  trx: Trx,
  requestId: string,
  from: readonly SyncState[],
  to: Updateable<CensusSyncTable>,
): Promise<void> {
  await trx
    .updateTable('census_syncs')
    .set(to)
    .where('request_id', '=', requestId)
    .where('state', 'in', from)
    .execute();
}

export const SYNC_REASONS: ReasonColumn = {
  ...{ table: 'census_syncs', column: 'dismissed_reason', actions: ['census-sync.dismiss'] },
  by: { column: 'sync_id', is: 'resource_id' },
};
