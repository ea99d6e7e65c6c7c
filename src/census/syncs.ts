/** Census syncs: each request for a census opens one. Several may share an upload. All times are texts. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Db, Trx } from '../database/tables.ts';
import { employerSubject, enqueue, lockSubject, makeDue, pendingRequest } from '../outbox/queue.ts';

type Requested = { employerId: string; now: string };

/** Opens a sync for the service's request. The same event has no second effect. */
export async function requestSync(trx: Trx, request: Requested & { eventId: string }): Promise<void> {
  const known = await trx
    .selectFrom('census_syncs')
    .select('sync_id')
    .where('event_id', '=', request.eventId)
    .executeTakeFirst();
  if (known === undefined) await openSync(trx, request, await owedUpload(trx, request));
}

/** Opens a sync for an operator's request, and makes a pending upload due now. Returns the sync's id. */
export async function requestSyncManually(trx: Trx, request: Requested): Promise<string> {
  const requestId = await owedUpload(trx, request);
  await makeDue(trx, requestId, request.now);
  return openSync(trx, { ...request, eventId: null }, requestId);
}

/** Completes the employer's syncs whose upload had started when the service reported completion. */
export async function completeSyncs(
  trx: Trx,
  { employerId, receivedAt, now }: { employerId: string; receivedAt: string; now: string },
): Promise<number> {
  await lockSubject(trx, employerSubject(employerId));
  const completed = await trx
    .updateTable('census_syncs')
    .set({ state: 'completed', completed_at: now, reason: null, problem_count: 0, problems: null })
    .where('employer_id', '=', employerId)
    .where(sql<boolean>`state <> 'completed'`)
    // An upload cannot start in the future: the clock was set back since.
    .where((where) =>
      where.or([where('upload_started_at', '<=', receivedAt), where('upload_started_at', '>', now)]),
    )
    .executeTakeFirst();
  return Number(completed.numUpdatedRows);
}

/** Requests the syncs again that waited or failed, with the upload under way or a pending or new one. */
export async function reviveSyncs(
  trx: Trx,
  { employerId, uploading, now }: { employerId: string; uploading: string | null; now: string },
): Promise<void> {
  // The first condition is that of a partial index.
  const isStalled = sql<boolean>`state <> 'completed' and state in ('waiting', 'failed')`;
  const stalled = trx.selectFrom('census_syncs').select('sync_id').where('employer_id', '=', employerId);
  if ((await stalled.where(isStalled).limit(1).execute()).length === 0) return;
  const requestId = uploading ?? (await owedUpload(trx, { employerId, now }));
  if (uploading === null) await makeDue(trx, requestId, now);
  await trx
    .updateTable('census_syncs')
    .set({ state: 'requested', request_id: requestId, reason: null, problem_count: 0, problems: null })
    .where('employer_id', '=', employerId)
    .where(isStalled)
    .execute();
}

/** Returns the pending upload or a new one. One that is being sent may have read the census already. */
async function owedUpload(trx: Trx, { employerId, now }: Requested): Promise<string> {
  const subject = employerSubject(employerId);
  await lockSubject(trx, subject);
  const pending = await pendingRequest(trx, 'census', subject);
  if (pending !== null) return pending;
  const requestId = randomUUID();
  await enqueue(trx, [{ requestId, kind: 'census', ...subject, encrypted: null }], now);
  return requestId;
}

async function openSync(
  trx: Trx,
  { employerId, eventId, now }: Requested & { eventId: string | null },
  requestId: string,
): Promise<string> {
  const sync_id = randomUUID();
  const row = {
    sync_id,
    employer_id: employerId,
    event_id: eventId,
    request_id: requestId,
    requested_at: now,
  };
  await trx
    .insertInto('census_syncs')
    .values({ ...row, state: 'requested' })
    .execute();
  return sync_id;
}

/** Reports whether a sync was ever requested for an employer. */
export async function hasCensusSyncs(db: Db | Trx, employerId: string): Promise<boolean> {
  const row = await db
    .selectFrom('census_syncs')
    .select('sync_id')
    .where('employer_id', '=', employerId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
