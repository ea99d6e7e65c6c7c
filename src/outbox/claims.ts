import { sql } from 'kysely';
import { insertMany, isOneOf } from '../database/bulk.ts';
import { forUpdate, forUpdateSkipLocked, tryLockName } from '../database/engine.ts';
import type { OutboxTable, Subject, Trx } from '../database/tables.ts';
import {
  breakerQuery,
  type CircuitBreaker,
  CLOCK_SPREAD_MS,
  isProbeDue,
  readCircuitBreaker,
  reserveProbe,
} from './circuit-breaker.ts';
import { subjectName, updateFront } from './queue.ts';
import { after, DELAY_MAX_MS } from './retry.ts';
import type { Claim, Senders } from './sender.ts';

/** How long after its owner's death a claim is taken over: less than the promised 60 seconds. */
export const LEASE_MS = 30_000;
/** A third of the lease: one heartbeat may be late and one lost. */
export const HEARTBEAT_MS = 10_000;

/** More expired claims than any loop holds, and few enough for a short transaction. */
const RETURNED_AT_ONCE = 100;

/** The most requests to claim, and how many of them may be census uploads. */
export type Slots = { limit: number; uploads: number };

type ClaimOptions = Slots & {
  owner: string;
  /** Requests that this loop is sending. They are never claimed again, even if their leases seem expired. */
  inFlight: ReadonlySet<string>;
  /** Whether to release expired claims first. Once a second is enough: a lease lasts thirty. */
  takesOver: boolean;
  senders: Senders;
};

/** Claims the requests that are due, oldest first. While sending is paused: none, or one as a probe. */
export async function claim(
  trx: Trx,
  options: ClaimOptions,
  now: Date,
): Promise<{ claims: Claim[]; isPaused: boolean }> {
  if (options.takesOver) await returnExpired(trx, options, now);
  const breaker = await breakerForClaims(trx);
  const isPaused = breaker.state === 'paused';
  if (isPaused && !isProbeDue(breaker, now)) return { claims: [], isPaused };
  const due = await dueRequests(trx, options, isPaused ? 1 : options.limit, now);
  const claims = due.map(({ attempts, request_id, ...request }): Claim => {
    return { ...request, requestId: request_id, attempt: attempts + 1, probe: isPaused };
  });
  await take(trx, options.owner, claims, now);
  if (isPaused && claims.length > 0) await reserveProbe(trx, new Date(now.getTime() + LEASE_MS));
  return { claims, isPaused };
}

/** Locks the circuit breaker while it is paused, so that one process at a time decides whether to probe. */
async function breakerForClaims(trx: Trx): Promise<CircuitBreaker> {
  const breaker = await readCircuitBreaker(trx);
  return breaker.state === 'active' ? breaker : forUpdate(trx, breakerQuery(trx)).executeTakeFirstOrThrow();
}

/** Renews the lease. Returns false if the claim was taken over: its owner must not finish it. */
export async function heartbeat(trx: Trx, owner: string, claimed: Claim, now: Date): Promise<boolean> {
  const renewed = await trx
    .updateTable('outbox')
    .set({ lease_expires_at: after(now, LEASE_MS) })
    .where('request_id', '=', claimed.requestId)
    .where('claimed_by', '=', owner)
    .where('attempts', '=', claimed.attempt)
    .executeTakeFirst();
  return renewed.numUpdatedRows > 0n;
}

/** Releases claims whose lease expired, or ends later than any can because the clock jumped. */
async function returnExpired(trx: Trx, { inFlight, senders }: ClaimOptions, now: Date): Promise<void> {
  const expired = await forUpdateSkipLocked(
    trx,
    trx
      .selectFrom('outbox')
      .select(['request_id', 'subject_type', 'subject_id', 'attempts'])
      .where(sql<boolean>`state = 'sending'`)
      .where((where) =>
        where.or([
          where('lease_expires_at', '<=', now.toISOString()),
          where('lease_expires_at', '>', after(now, LEASE_MS + CLOCK_SPREAD_MS)),
        ]),
      )
      .limit(RETURNED_AT_ONCE),
  ).execute();
  for (const { request_id, attempts, ...subject } of expired) {
    if (inFlight.has(request_id)) continue;
    // Elsewhere the subject is locked first, so waiting could deadlock. The next batch tries again.
    if (!(await tryLockName(trx, subjectName(subject)))) continue;
    const reason = 'the sender stopped during the attempt';
    const putOff = { requestId: request_id, dueAt: now.toISOString(), status: null, reason, unknown: true };
    await backToPending(trx, senders, putOff, now);
    await endAttempt(trx, { requestId: request_id, attempt: attempts, status: null, reason }, now);
    await updateFront(trx, subject);
  }
}

type DueRequest = Pick<OutboxTable, 'request_id' | 'kind' | keyof Subject | 'body'> & { attempts: number };

/** Returns the due requests. A due time beyond the longest delay comes from a clock that jumped. */
async function dueRequests(trx: Trx, { inFlight, uploads }: ClaimOptions, limit: number, now: Date) {
  const fronts = trx
    .selectFrom('outbox')
    .select(['request_id', 'kind', 'subject_type', 'subject_id', 'attempts', 'body'])
    .where(sql<boolean>`state = 'pending' and is_next = 1`)
    .$if(inFlight.size > 0, (query) => query.where('request_id', 'not in', [...inFlight]))
    .$if(uploads <= 0, (query) => query.where('kind', '<>', 'census'))
    .orderBy('due_at')
    .orderBy('seq')
    .limit(limit);
  const due = await forUpdateSkipLocked(trx, fronts.where('due_at', '<=', now.toISOString())).execute();
  if (due.length === limit) return withoutExcessUploads(due, uploads);
  const stray = await forUpdateSkipLocked(
    trx,
    fronts.where('due_at', '>', after(now, DELAY_MAX_MS + CLOCK_SPREAD_MS)),
  ).execute();
  return withoutExcessUploads([...due, ...stray].slice(0, limit), uploads);
}

/** Limits the uploads. The next claim skips them once their slots are used. */
function withoutExcessUploads(due: readonly DueRequest[], uploads: number): DueRequest[] {
  let left = uploads;
  return due.filter(({ kind }) => {
    if (kind !== 'census') return true;
    left -= 1;
    return left >= 0;
  });
}

async function take(trx: Trx, owner: string, claims: readonly Claim[], now: Date): Promise<void> {
  if (claims.length === 0) return;
  const ids = claims.map(({ requestId }) => requestId);
  await trx
    .updateTable('outbox')
    .set({
      state: 'sending',
      claimed_by: owner,
      lease_expires_at: after(now, LEASE_MS),
      attempts: sql<number>`attempts + 1`,
    })
    .where(isOneOf(trx, 'request_id', ids))
    .execute();
  const begun = claims.map(({ requestId, attempt }) => [requestId, attempt, now.toISOString()]);
  await insertMany(trx, 'delivery_attempts', ['request_id', 'attempt', 'started_at'], begun);
}

/** Records how an attempt ended. */
export async function endAttempt(
  trx: Trx,
  end: { requestId: string; attempt: number; status: number | null; reason: string | null },
  now: Date,
): Promise<void> {
  await trx
    .updateTable('delivery_attempts')
    .set({ finished_at: now.toISOString(), status: end.status, reason: end.reason })
    .where('request_id', '=', end.requestId)
    .where('attempt', '=', end.attempt)
    .execute();
}

type PutOff = {
  requestId: string;
  dueAt: string;
  status: number | null;
  reason: string;
  /** Whether this attempt or an earlier one may have been applied. */
  unknown: boolean;
};

/** Releases a claim, schedules the next attempt, and merges the newer request if its kind coalesces. */
export async function backToPending(trx: Trx, senders: Senders, putOff: PutOff, now: Date): Promise<void> {
  await mergeNewer(trx, senders, putOff.requestId, now);
  await trx
    .updateTable('outbox')
    .set({
      state: 'pending',
      due_at: putOff.dueAt,
      claimed_by: null,
      lease_expires_at: null,
      status: putOff.status,
      reason: putOff.reason,
      ...(putOff.unknown && { unknown_outcome: 1 }),
    })
    .where('request_id', '=', putOff.requestId)
    .execute();
}

async function mergeNewer(trx: Trx, senders: Senders, requestId: string, now: Date): Promise<void> {
  const { kind, subject_type, subject_id } = await trx
    .selectFrom('outbox')
    .select(['kind', 'subject_type', 'subject_id'])
    .where('request_id', '=', requestId)
    .executeTakeFirstOrThrow();
  const merged = senders[kind]?.merged;
  if (merged === undefined) return;
  const newer = await trx
    .updateTable('outbox')
    .set({
      state: 'canceled',
      reason: `merged into request ${requestId}, which will be retried`,
      finished_at: now.toISOString(),
    })
    .where('subject_type', '=', subject_type)
    .where('subject_id', '=', subject_id)
    .where('kind', '=', kind)
    .where('state', '=', 'pending')
    .returning('request_id')
    .execute();
  for (const { request_id } of newer) await merged(trx, requestId, request_id);
}
