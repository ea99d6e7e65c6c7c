/**
 * The circuit breaker pauses all sending when a response says that the base address or the API key is wrong. While it
 * is paused, one probe at a time tests whether the cause is fixed; any response that does not pause it again makes it
 * active. It is stored, so that a restart does not send a burst of requests.
 */
import { sql } from 'kysely';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { after, doubled } from './retry.ts';

/** Short, so that a replaced key takes effect at once. */
const PROBE_MIN_MS = 1_000;
/** A fix is detected within a minute, without a high load on the service until then. */
const PROBE_MAX_MS = 60_000;

/** How much later another process may have read the clock. */
export const CLOCK_SPREAD_MS = 15_000;

/** Whether sending is paused, why, since when, and when the next probe is due. */
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
export async function reserveProbe(trx: Trx, until: Date): Promise<void> {
  await trx
    .updateTable('circuit_breaker')
    .set({ next_probe_at: until.toISOString() })
    .where('state', '=', 'paused')
    .execute();
}

/** Pauses sending. Returns whether it was active. */
export async function pauseSending(trx: Trx, reason: string, now: Date): Promise<boolean> {
  const paused = await trx
    .updateTable('circuit_breaker')
    .set({
      state: 'paused',
      reason,
      paused_at: now.toISOString(),
      next_probe_at: after(now, PROBE_MIN_MS),
      probe_count: 0,
    })
    .where('state', '=', 'active')
    .executeTakeFirst();
  return paused.numUpdatedRows > 0n;
}

/** Doubles the wait for the next probe, after one that failed or got no response. */
export async function probeFailed(trx: Trx, now: Date): Promise<void> {
  const { probe_count } = await readCircuitBreaker(trx);
  const waitMs = doubled(PROBE_MIN_MS, PROBE_MAX_MS, probe_count + 1);
  await trx
    .updateTable('circuit_breaker')
    .set({ next_probe_at: after(now, waitMs), probe_count: sql<number>`probe_count + 1` })
    .where('state', '=', 'paused')
    .execute();
}

async function resumeSending(trx: Trx): Promise<boolean> {
  const resumed = await trx
    .updateTable('circuit_breaker')
    .set({ state: 'active', reason: null, paused_at: null, next_probe_at: null, probe_count: 0 })
    .where('state', '=', 'paused')
    .executeTakeFirst();
  return resumed.numUpdatedRows > 0n;
}

/**
 * Applies the results of attempts in order; `answered` is null if nothing was sent. Returns, for each, the state that it
 * changed the circuit breaker to, or null. The last lock that a transaction takes (docs/database.md).
 */
export async function applySignals(
  trx: Trx,
  signals: readonly { probe: boolean; pauses: boolean; answered: boolean | null; reason: string }[],
  now: Date,
): Promise<(CircuitBreaker['state'] | null)[]> {
  const changes: (CircuitBreaker['state'] | null)[] = [];
  // Once it is known to be active, most responses need no statement.
  let isActive = false;
  for (const { probe, pauses, answered, reason } of signals) {
    if (pauses) {
      if (probe) await probeFailed(trx, now);
      changes.push((await pauseSending(trx, reason, now)) ? 'paused' : null);
      isActive = false;
    } else if (answered) {
      changes.push(!isActive && (await resumeSending(trx)) ? 'active' : null);
      isActive = true;
    } else {
      if (probe && answered === false) await probeFailed(trx, now);
      // The probe sent nothing, so another request may probe at once.
      if (probe && answered === null) await reserveProbe(trx, now);
      changes.push(null);
    }
  }
  return changes;
}
