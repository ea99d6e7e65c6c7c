import { sql, type Updateable } from 'kysely';
import { insertMany, isOneOf } from '../database/bulk.ts';
import { forUpdate, forUpdateSkipLocked, tryLockNames } from '../database/engine.ts';
import type { OutboxTable, Trx } from '../database/tables.ts';
import {
  breakerQuery,
  CLOCK_SPREAD_MS,
  isProbeDue,
  readCircuitBreaker,
  reserveProbe,
} from './circuit-breaker.ts';
import { isSendingOff } from './pilot.ts';
import { IS_HELD, subjectName, updateFronts } from './queue.ts';
import { after, DELAY_MAX_MS } from './retry.ts';
import type { Claim, Senders } from './sender.ts';

/** How long after its owner's death a claim is taken over: less than the promised 60 seconds. */
export const LEASE_MS = 30_000;
/** A third of the lease: one heartbeat may be late and one lost. */
export const HEARTBEAT_MS = 10_000;

/** Maximum number of expired claims returned in one transaction, which stays short. A loop holds fewer. */
const RETURNED_AT_ONCE = 100;

/** `uploads`: how many of the requests may be census uploads. */
export type Slots = { limit: number; uploads: number };

export type ClaimOptions = Slots & {
  owner: string;
  /** Requests that this loop is sending. They are never claimed again, even if their leases seem expired. */
  inFlight: ReadonlySet<string>;
  /** Whether this process has an API key. Without one it claims only what ends unsent. */
  hasKey: boolean;
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
  let breaker = await readCircuitBreaker(trx);
  // Locked while it is paused, so that one process at a time decides whether to probe.
  if (breaker.state === 'paused') breaker = await forUpdate(trx, breakerQuery(trx)).executeTakeFirstOrThrow();
  const isPaused = breaker.state === 'paused';
  if (isPaused && !isProbeDue(breaker, now)) return { claims: [], isPaused };
  const due = isPaused
    ? await dueProbe(trx, options, now)
    : await dueRequests(trx, options, { limit: options.limit }, now);
  // Read after the requests are locked: from then on no pilot can start.
  const isUnsent = due.length > 0 && (await isSendingOff(trx));
  if (!isUnsent && !options.hasKey) return { claims: [], isPaused };
  const claims = due.map(({ attempts, is_held, ...request }): Claim => {
    const isHeld = is_held === 1;
    return { ...request, attempt: attempts + 1, probe: isPaused, isUnsent, rereadsKey: isPaused || isHeld };
  });
  if (claims.length > 0) await take(trx, options.owner, claims, now);
  if (isPaused && claims.length > 0) await reserveProbe(trx, new Date(now.getTime() + LEASE_MS));
  return { claims, isPaused };
}

/** Renews the lease. Returns false if the claim was taken over. */
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
      .select(['request_id as requestId', 'kind', 'subject_type', 'subject_id', 'attempts as attempt'])
      .where(sql<boolean>`state = 'sending'`)
      .where((where) =>
        where.or([
          where('lease_expires_at', '<=', now.toISOString()),
          where('lease_expires_at', '>', after(now, LEASE_MS + CLOCK_SPREAD_MS)),
        ]),
      )
      .limit(RETURNED_AT_ONCE),
  ).execute();
  for (const claimed of expired) {
    if (inFlight.has(claimed.requestId)) continue;
    // Elsewhere the subject is locked first, so waiting could deadlock. The next batch tries again.
    if ((await tryLockNames(trx, [subjectName(claimed)])).size === 0) continue;
    const reason = 'the sender stopped during the attempt';
    await putOff(
      trx,
      senders,
      claimed,
      { delayMs: 0, status: null, reason, refusals: 0, unknown: true },
      now,
    );
    await updateFronts(trx, [claimed]);
  }
}

/** Returns a due request whose subject is not held, which shows most about the address and the key, else a held one. */
async function dueProbe(trx: Trx, options: ClaimOptions, now: Date) {
  const unheld = await dueRequests(trx, options, { limit: 1, isHeld: false }, now);
  return unheld.length > 0 ? unheld : dueRequests(trx, options, { limit: 1 }, now);
}

/** Returns the due requests. A due time beyond the longest delay comes from a clock that jumped. */
async function dueRequests(
  trx: Trx,
  { inFlight, uploads }: ClaimOptions,
  { limit, isHeld }: { limit: number; isHeld?: boolean },
  now: Date,
) {
  const fronts = trx
    .selectFrom('outbox')
    .select(['request_id as requestId', 'kind', 'subject_type', 'subject_id', 'attempts', 'body'])
    .select(sql<0 | 1>`case when ${IS_HELD} then 1 else 0 end`.as('is_held'))
    .where(sql<boolean>`state = 'pending' and is_next = 1`)
    .$if(isHeld === false, (query) => query.where(sql<boolean>`not (${IS_HELD})`))
    .$if(inFlight.size > 0, (query) => query.where('request_id', 'not in', [...inFlight]))
    .$if(uploads <= 0, (query) => query.where('kind', '<>', 'census'))
    .orderBy('due_at')
    .orderBy('seq')
    .limit(limit);
  let due = await forUpdateSkipLocked(trx, fronts.where('due_at', '<=', now.toISOString())).execute();
  if (due.length < limit) {
    const latest = after(now, DELAY_MAX_MS + CLOCK_SPREAD_MS);
    const stray = await forUpdateSkipLocked(trx, fronts.where('due_at', '>', latest)).execute();
    due = [...due, ...stray].slice(0, limit);
  }
  // The next claim skips uploads once their slots are used.
  const excess = new Set(due.filter(({ kind }) => kind === 'census').slice(Math.max(0, uploads)));
  return due.filter((request) => !excess.has(request));
}

async function take(trx: Trx, owner: string, claims: readonly Claim[], now: Date): Promise<void> {
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

type Claimed = Omit<Claim, 'body' | 'probe' | 'isUnsent' | 'rereadsKey'>;

/** Ends an attempt and the claim on its request. */
export async function endClaim(
  trx: Trx,
  { requestId, attempt }: Claimed,
  end: Updateable<OutboxTable> & { status: number | null; reason: string },
  now: Date,
): Promise<void> {
  await trx
    .updateTable('outbox')
    .set({ claimed_by: null, lease_expires_at: null, ...end })
    .where('request_id', '=', requestId)
    .execute();
  await trx
    .updateTable('delivery_attempts')
    .set({ finished_at: now.toISOString(), status: end.status, reason: end.reason })
    .where('request_id', '=', requestId)
    .where('attempt', '=', attempt)
    .execute();
}

type PutOff = { delayMs: number; unknown: boolean; status: number | null; reason: string; refusals: number };

/**
 * Ends an attempt, schedules the next one, and merges the newer request if its kind coalesces. `unknown`: this attempt or
 * an earlier one may have been applied.
 */
export async function putOff(
  trx: Trx,
  senders: Senders,
  claimed: Claimed,
  { delayMs, unknown, ...end }: PutOff,
  now: Date,
): Promise<void> {
  const { requestId, kind, subject_type, subject_id } = claimed;
  const merged = senders[kind]?.merged;
  if (merged !== undefined) {
    const reason = `merged into request ${requestId}, which will be retried`;
    const newer = await trx
      .updateTable('outbox')
      .set({ state: 'canceled', reason, finished_at: now.toISOString() })
      .where('subject_type', '=', subject_type)
      .where('subject_id', '=', subject_id)
      .where('kind', '=', kind)
      .where('state', '=', 'pending')
      .returning('request_id')
      .execute();
    for (const { request_id } of newer) await merged(trx, requestId, request_id);
  }
  const pending = { ...end, state: 'pending', due_at: after(now, delayMs) } as const;
  await endClaim(trx, claimed, unknown ? { ...pending, unknown_outcome: 1 } : pending, now);
}
