/**
 * The circuit breaker pauses all sending when the base address or the API key is wrong. One response shows that for its
 * subject only: two subjects, or a 401 when no other request is due, show it for all. One probe at a time then tests
 * whether the cause is fixed; any other response makes it active. It is stored, so that a restart does not send a burst of
 * requests.
 */
import { type Selectable, sql, type UpdateObject } from 'kysely';
import { forUpdate } from '../database/engine.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { notify } from '../notifications/store.ts';
import { IS_HELD, makeHeldDue } from './queue.ts';
import { after, doubled, HOLD_MAX_MS, HOLD_MIN_MS } from './retry.ts';

/** How much later another process may have read the clock. */
export const CLOCK_SPREAD_MS = 15_000;

export type CircuitBreaker = Omit<Selectable<Tables['circuit_breaker']>, 'id'>;

export async function readCircuitBreaker(db: Db | Trx): Promise<CircuitBreaker> {
  return breakerQuery(db).executeTakeFirstOrThrow();
}

export function breakerQuery(db: Db | Trx) {
  return db
    .selectFrom('circuit_breaker')
    .select(['state', 'reason', 'paused_at', 'next_probe_at', 'probe_count', 'suspect']);
}

/** Returns whether a probe may start. A time beyond the longest interval comes from a clock that jumped. */
export function isProbeDue({ next_probe_at }: CircuitBreaker, now: Date): boolean {
  if (next_probe_at === null) return false;
  const waitMs = Date.parse(next_probe_at) - now.getTime();
  return waitMs <= 0 || waitMs > HOLD_MAX_MS + CLOCK_SPREAD_MS;
}

/** Prevents other probes until then: one is in progress, or its claim expires. */
export function reserveProbe(trx: Trx, until: Date): Promise<boolean> {
  return update(trx, 'paused', { next_probe_at: until.toISOString() });
}

/** Pauses sending. Returns whether it was active. */
export async function pauseSending(trx: Trx, reason: string, now: Date): Promise<boolean> {
  const next_probe_at = after(now, HOLD_MIN_MS);
  const paused = { reason, paused_at: now.toISOString(), next_probe_at, probe_count: 0 };
  const hasPaused = await update(trx, 'active', { state: 'paused', ...paused });
  if (hasPaused) await notify(trx, 'sending.paused', {}, now.toISOString());
  return hasPaused;
}

/** Makes it active, because nothing is sent that could probe. */
export async function resumeSending(trx: Trx): Promise<void> {
  await update(trx, 'paused', { state: 'active', ...NOT_PAUSED });
  await trx.updateTable('circuit_breaker').set({ suspect: null }).execute();
}

/** Doubles the wait for the next probe, after one that failed or got no response. */
export async function probeFailed(trx: Trx, now: Date): Promise<void> {
  const { probe_count } = await readCircuitBreaker(trx);
  const next_probe_at = after(now, doubled(HOLD_MIN_MS, HOLD_MAX_MS, probe_count + 1));
  await update(trx, 'paused', { next_probe_at, probe_count: sql<number>`probe_count + 1` });
}

/** Updates the circuit breaker if it is in this state, and returns whether it was. */
async function update(
  trx: Trx,
  from: CircuitBreaker['state'],
  to: UpdateObject<Tables, 'circuit_breaker'>,
): Promise<boolean> {
  const query = trx.updateTable('circuit_breaker').set(to).where('state', '=', from);
  return (await query.executeTakeFirst()).numUpdatedRows > 0n;
}

const NOT_PAUSED = { reason: null, paused_at: null, next_probe_at: null, probe_count: 0 };

/** The end of a claim. `isFirst`: the subject was not held before. `responded` is null if nothing was sent. */
export type Signal = {
  probe: boolean;
  subject: string;
  status: number | null;
  reason: string;
  responded: boolean | null;
  isDelivered: boolean;
  isWrongTarget: boolean;
  isFirst: boolean;
};

/**
 * Applies the results of attempts in order. Returns one value per result: the new state of the circuit breaker, or null if
 * it did not change. The transaction waits for no lock after this one (docs/internals/database.md).
 */
export async function applySignals(
  trx: Trx,
  signals: readonly Signal[],
  now: Date,
): Promise<(CircuitBreaker['state'] | null)[]> {
  const changes: (CircuitBreaker['state'] | null)[] = [];
  const isAnyDelivered = signals.some(({ isDelivered }) => isDelivered);
  // Once it is known to be active, most responses need no statement.
  let isActive = false;
  for (const signal of signals) {
    const { probe, isWrongTarget, isDelivered, responded } = signal;
    if (isWrongTarget) {
      if (probe) await probeFailed(trx, now);
      const hasPaused = !isAnyDelivered && (await suspectTarget(trx, signal, now));
      changes.push(hasPaused ? 'paused' : null);
    } else if (responded) {
      const hasResumed = !isActive && (await update(trx, 'paused', { state: 'active', ...NOT_PAUSED }));
      if (hasResumed) await notify(trx, 'sending.resumed', {}, now.toISOString());
      if (hasResumed && isDelivered) await makeHeldDue(trx, now);
      changes.push(hasResumed ? 'active' : null);
      isActive = true;
    } else {
      if (probe && responded === false) await probeFailed(trx, now);
      // The probe sent nothing, so another request may probe at once.
      if (probe && responded === null) await reserveProbe(trx, now);
      changes.push(null);
    }
  }
  if (isAnyDelivered) {
    const success = trx.updateTable('circuit_breaker').set({ suspect: null });
    await success.where('suspect', 'is not', null).execute();
  }
  return changes;
}

/**
 * Notes a response that means a wrong address or key, and pauses sending if that is so for all. Returns whether it paused.
 * A subject that was held before the last success shows nothing new: it alone is refused, however often it is probed.
 */
async function suspectTarget(
  trx: Trx,
  { subject, status, reason, isFirst }: Signal,
  now: Date,
): Promise<boolean> {
  const { suspect } = await forUpdate(trx, breakerQuery(trx)).executeTakeFirstOrThrow();
  if (!isFirst && suspect !== subject) return false;
  const isSecond = suspect !== null && suspect !== subject;
  if (isSecond || (status === 401 && !(await isOtherDue(trx, subject, now)))) {
    return pauseSending(trx, reason, now);
  }
  if (suspect === null) await update(trx, 'active', { suspect: subject });
  return false;
}

/** Returns whether another subject, which is not held, has a request that is due or being sent. */
async function isOtherDue(trx: Trx, subject: string, now: Date): Promise<boolean> {
  const row = await trx
    .selectFrom('outbox')
    .select('seq')
    .where(sql<boolean>`is_next = 1 and finished_at is null`)
    .where((where) => where.or([where('state', '=', 'sending'), where('due_at', '<=', now.toISOString())]))
    .where(sql<boolean>`not (${IS_HELD})`)
    .where(sql<boolean>`subject_type || ':' || subject_id <> ${subject}`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
