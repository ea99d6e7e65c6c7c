import { sql } from 'kysely';
import type { Db, Trx } from '../database/tables.ts';

/**
 * Closed for all when an answer says that the address or the key is wrong. One probe at a time finds out whether
 * it is mended; any answer that doesn't close the gate opens it. It is persisted, so a restart starts no storm.
 */

/** A key that was just replaced is taken up at once. */
const PROBE_MIN_MS = 1_000;
/** Mended is noticed within a minute, and the service is not hammered meanwhile. */
const PROBE_MAX_MS = 60_000;
/** Doublings after which the interval is at its most. */
const DOUBLINGS_MAX = 6;

/**
 * How much later than this process another one may have read the clock before it wrote a time: no transaction takes
 * longer. A time further in the future comes from a clock that jumped.
 */
export const CLOCK_SPREAD_MS = 15_000;

export type Gate = {
  state: 'active' | 'paused';
  /** Why it is closed, and since when. */
  reason: string | null;
  since: string | null;
  probe_at: string | null;
  probes: number;
};

export function readGate(db: Db | Trx): Promise<Gate> {
  return gateQuery(db).executeTakeFirstOrThrow();
}

export function gateQuery(db: Db | Trx) {
  return db.selectFrom('circuit_breaker').select(['state', 'reason', 'since', 'probe_at', 'probes']);
}

/** Returns whether a probe may start. A time beyond the longest interval comes from a clock that jumped. */
export function isProbeDue(gate: Gate, now: Date): boolean {
  if (gate.probe_at === null) return false;
  const waitMs = Date.parse(gate.probe_at) - now.getTime();
  return waitMs <= 0 || waitMs > PROBE_MAX_MS + CLOCK_SPREAD_MS;
}

/** Keeps others from probing until then: a probe is under way, or its claim expires. */
export async function reserveProbe(trx: Trx, until: Date): Promise<void> {
  await trx
    .updateTable('circuit_breaker')
    .set({ probe_at: until.toISOString() })
    .where('state', '=', 'paused')
    .execute();
}

/** An answer said that the address or the key is wrong. True when this closed the gate. */
export async function closeGate(trx: Trx, reason: string, now: Date): Promise<boolean> {
  const closed = await trx
    .updateTable('circuit_breaker')
    .set({
      state: 'paused',
      reason,
      since: now.toISOString(),
      probe_at: new Date(now.getTime() + PROBE_MIN_MS).toISOString(),
      probes: 0,
    })
    .where('state', '=', 'active')
    .executeTakeFirst();
  return closed.numUpdatedRows > 0n;
}

/** The probe found the gate's cause unmended, or got no answer: the next one comes after twice the time. */
export async function probeFailed(trx: Trx, now: Date): Promise<void> {
  const gate = await readGate(trx);
  const waitMs = Math.min(PROBE_MAX_MS, PROBE_MIN_MS * 2 ** Math.min(gate.probes + 1, DOUBLINGS_MAX));
  await trx
    .updateTable('circuit_breaker')
    .set({
      probe_at: new Date(now.getTime() + waitMs).toISOString(),
      probes: sql<number>`probes + 1`,
    })
    .where('state', '=', 'paused')
    .execute();
}

/** An answer came that doesn't close the gate. True when this opened it. */
export async function openGate(trx: Trx): Promise<boolean> {
  const opened = await trx
    .updateTable('circuit_breaker')
    .set({ state: 'active', reason: null, since: null, probe_at: null, probes: 0 })
    .where('state', '=', 'paused')
    .executeTakeFirst();
  return opened.numUpdatedRows > 0n;
}

/** What an attempt says about the gate. `answered`: null when the service was asked nothing. */
export type Said = {
  readonly probe: boolean;
  readonly closes: boolean;
  readonly answered: boolean | null;
  readonly reason: string;
};

/**
 * Moves the gate by what attempts say, in their order; answers what each of them did to it. Comes last in a
 * transaction's locks (docs/architecture.md).
 */
export async function tellGate(
  trx: Trx,
  all: readonly Said[],
  now: Date,
): Promise<('opened' | 'closed' | null)[]> {
  const moves: ('opened' | 'closed' | null)[] = [];
  /** Whether it is known to be open: then most answers need no statement. */
  let isOpen = false;
  for (const { probe, closes, answered, reason } of all) {
    if (closes) {
      if (probe) await probeFailed(trx, now);
      moves.push((await closeGate(trx, reason, now)) ? 'closed' : null);
      isOpen = false;
    } else if (answered) {
      moves.push(!isOpen && (await openGate(trx)) ? 'opened' : null);
      isOpen = true;
    } else {
      if (probe && answered === false) await probeFailed(trx, now);
      // It asked the service nothing: another request may probe at once.
      if (probe && answered === null) await reserveProbe(trx, now);
      moves.push(null);
    }
  }
  return moves;
}
