/** Updates the syncs that wait for an upload, by the upload's request id. */
import type { Updateable } from 'kysely';
import type { CensusSyncTable, Db, SyncState, Trx } from '../database/tables.ts';
import type { Problem } from '../errors.ts';

/** The states of a sync that still needs an upload. */
const UNFINISHED = ['requested', 'waiting', 'failed'] as const;

/** Returns when the newest of the upload's syncs was requested, or null if none waits for it. */
export async function wantedSince(db: Db | Trx, requestId: string): Promise<string | null> {
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

/** No fresh census exists; payroll must provide one. */
export function awaitCensus(trx: Trx, requestId: string, reason: string): Promise<void> {
  return move(trx, requestId, ['requested', 'failed'], { state: 'waiting', reason });
}

/** The census cannot be sent as it is. */
export function failSyncs(
  trx: Trx,
  requestId: string,
  reason: string,
  found: { problemCount: number; problems: readonly Problem[] } | null = null,
): Promise<void> {
  const problems = found === null ? null : JSON.stringify(found.problems);
  const to = { state: 'failed', reason, problem_count: found?.problemCount ?? 0, problems } as const;
  return move(trx, requestId, UNFINISHED, to);
}

/** The upload is delayed, and the reason is shown. A failed sync keeps its own reason. */
export function noteReason(trx: Trx, requestId: string, reason: string): Promise<void> {
  return move(trx, requestId, ['requested'], { reason });
}

/** The upload starts. An earlier start stays recorded: what it sent may have been processed. */
export async function uploadStarted(trx: Trx, requestId: string, now: string): Promise<void> {
  const again = { state: 'requested', reason: null, problem_count: 0, problems: null } as const;
  await move(trx, requestId, UNFINISHED, again);
  await trx
    .updateTable('census_syncs')
    .set({ upload_started_at: now })
    .where('request_id', '=', requestId)
    .where('state', '=', 'requested')
    .where('upload_started_at', 'is', null)
    .execute();
}

/**
 * The service accepted the census in an attempt that started at `began`. A sync that is completed already,
 * because the event was faster than the response, gets only the time, unless an earlier attempt served it.
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
    // On PostgreSQL another process may time completions by its own clock.
    .where((where) => where.or([where('upload_started_at', '=', began), where('completed_at', '>=', began)]))
    .execute();
}

/** The service certainly did not accept this upload: a completion that arrives now is for another one. */
export function uploadNotTaken(trx: Trx, requestId: string): Promise<void> {
  return move(trx, requestId, ['requested'], { upload_started_at: null });
}

/** Assigns one request's syncs to another. */
export async function moveSyncs(trx: Trx, kept: string, canceled: string): Promise<void> {
  await trx
    .updateTable('census_syncs')
    .set({ request_id: kept })
    .where('request_id', '=', canceled)
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
