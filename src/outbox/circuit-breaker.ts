/**
 * The circuit breaker pauses all sending when the base address or the API key is wrong. One probe at a time then tests
 * whether the cause is fixed; any response that does not pause it again makes it active. It is stored, so that a restart
 * does not send a burst of requests.
 */
import { sql, type UpdateObject } from 'kysely';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { after, doubled } from './retry.ts';

/** Short, so that a replaced key takes effect at once. */
const PROBE_MIN_MS = 1_000;
/** A fix is detected within a minute, without a high load on the service until then. */
const PROBE_MAX_MS = 60_000;

/** How much later another process may have read the clock. */
export const CLOCK_SPREAD_MS = 15_000;

export type CircuitBreaker = Omit<Tables['circuit_breaker'], 'id'>;

export async function readCircuitBreaker(db: Db | Trx): Promise<CircuitBreaker> {
  return breakerQuery(db).executeTakeFirstOrThrow();
}

export function breakerQuery(db: Db | Trx) {
  return db
    .selectFrom('circuit_breaker')
    .select(['state', 'reason', 'paused_at', 'next_probe_at', 'probe_count']);
}

/** Returns whether a probe may start. A time beyond the longest interval comes from a clock that jumped. */
export function isProbeDue({ next_probe_at }: CircuitBreaker, now: Date): boolean {
  if (next_probe_at === null) return false;
  const waitMs = Date.parse(next_probe_at) - now.getTime();
  return waitMs <= 0 || waitMs > PROBE_MAX_MS + CLOCK_SPREAD_MS;
}

/** Prevents other probes until then: one is in progress, or its claim expires. */
export function reserveProbe(trx: Trx, until: Date): Promise<boolean> {
  return update(trx, 'paused', { next_probe_at: until.toISOString() });
}

/** Pauses sending. Returns whether it was active. */
export function pauseSending(trx: Trx, reason: string, now: Date): Promise<boolean> {
  const next_probe_at = after(now, PROBE_MIN_MS);
  const paused = { reason, paused_at: now.toISOString(), next_probe_at, probe_count: 0 };
  return update(trx, 'active', { state: 'paused', ...paused });
}

/** Doubles the wait for the next probe, after one that failed or got no response. */
export async function probeFailed(trx: Trx, now: Date): Promise<void> {
  const { probe_count } = await readCircuitBreaker(trx);
  const next_probe_at = after(now, doubled(PROBE_MIN_MS, PROBE_MAX_MS, probe_count + 1));
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

/**
 * Applies the results of attempts in order; `responded` is null if nothing was sent. Returns one value per result: the
 * new state of the circuit breaker, or null if it did not change. The transaction takes no lock after this one
 * (docs/database.md).
 */
export async function applySignals(
  trx: Trx,
  signals: readonly { probe: boolean; pauses: boolean; responded: boolean | null; reason: string }[],
  now: Date,
): Promise<(CircuitBreaker['state'] | null)[]> {
  const changes: (CircuitBreaker['state'] | null)[] = [];
  // Once it is known to be active, most responses need no statement.
  let isActive = false;
  for (const { probe, pauses, responded, reason } of signals) {
    if (pauses) {
      if (probe) await probeFailed(trx, now);
      changes.push((await pauseSending(trx, reason, now)) ? 'paused' : null);
      isActive = false;
    } else if (responded) {
      const hasResumed = !isActive && (await update(trx, 'paused', { state: 'active', ...NOT_PAUSED }));
      changes.push(hasResumed ? 'active' : null);
      isActive = true;
    } else {
      if (probe && responded === false) await probeFailed(trx, now);
      // The probe sent nothing, so another request may probe at once.
      if (probe && responded === null) await reserveProbe(trx, now);
      changes.push(null);
    }
  }
  return changes;
}
