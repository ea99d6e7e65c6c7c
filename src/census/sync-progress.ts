import type { Updateable } from 'kysely';
import type { Problem } from '../contract/check.ts';
import type { CensusSyncTable, Db, SyncState, Trx } from '../database/tables.ts';

/** How one upload moves the syncs that wait for it, by the upload's request id. */

/** When the newest of the syncs that this upload would serve was requested; null when none waits for it any more. */
export async function wantedSince(db: Db | Trx, requestId: string): Promise<string | null> {
  const newest = await db
    .selectFrom('census_syncs')
    .select('requested_at')
    .where('request_id', '=', requestId)
    .where('state', 'in', ['requested', 'waiting', 'failed'])
    .orderBy('requested_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.requested_at ?? null;
}

/** There is no fresh census; payroll must bring one. */
export function awaitCensus(trx: Trx, requestId: string, reason: string): Promise<void> {
  return move(trx, requestId, ['requested', 'failed'], { state: 'waiting', reason });
}

/** The census can't be sent as it is. */
export function failSyncs(
  trx: Trx,
  requestId: string,
  failure: { reason: string; problemCount: number; problems: readonly Problem[] | null },
): Promise<void> {
  return move(trx, requestId, ['requested', 'waiting', 'failed'], {
    state: 'failed',
    reason: failure.reason,
    problem_count: failure.problemCount,
    problems: failure.problems === null ? null : JSON.stringify(failure.problems),
  });
}

/** The upload is put off for a while; people see why. A failed sync keeps its own reason. */
export function noteReason(trx: Trx, requestId: string, reason: string): Promise<void> {
  return move(trx, requestId, ['requested'], { reason });
}

/** The upload begins. An earlier beginning stands: what it sent may have been processed. */
export async function uploadStarted(trx: Trx, requestId: string, now: string): Promise<void> {
  await move(trx, requestId, ['requested', 'waiting', 'failed'], {
    state: 'requested',
    reason: null,
    problem_count: 0,
    problems: null,
  });
  await trx
    .updateTable('census_syncs')
    .set({ upload_started_at: now })
    .where('request_id', '=', requestId)
    .where('state', '=', 'requested')
    .where('upload_started_at', 'is', null)
    .execute();
}

/**
 * The service took the census, in an attempt that began at `began`. A sync that it has completed meanwhile, which is
 * quicker than its answer at times, stays so and gets the time alone; not one that an earlier attempt had served.
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
    // The first by what this attempt wrote: completions are timed by another clock where several share PostgreSQL.
    .where((where) => where.or([where('upload_started_at', '=', began), where('completed_at', '>=', began)]))
    .execute();
}

/** The service certainly took no census from this upload: a completion that comes now is for another one. */
export function uploadNotTaken(trx: Trx, requestId: string): Promise<void> {
  return move(trx, requestId, ['requested'], { upload_started_at: null });
}

/** Another request uploads for this one's syncs. */
export async function moveSyncs(trx: Trx, kept: string, cancelled: string): Promise<void> {
  await trx
    .updateTable('census_syncs')
    .set({ request_id: kept })
    .where('request_id', '=', cancelled)
    .where('state', '<>', 'completed')
    .execute();
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
