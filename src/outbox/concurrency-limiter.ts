/**
 * How many requests may be under way at once, by how the last attempts ended. A service that was away, or is in
 * trouble, is not met with all that waited: it is asked by one request at a time, with growing pauses, and when it
 * answers again each answer allows one more, so that the number doubles with each round. Pure.
 *
 * The gate (gate.ts) is for an address or a key that is wrong, and is shared. This is each sender's own: a service
 * that is away says nothing about the next request, so that a restart may find out again.
 */

export type Limit = {
  /** At once, now. */
  readonly allowed: number;
  /** Attempts in a row that found the service in trouble. */
  readonly failed: number;
  /** Nothing goes out before; in milliseconds of a clock that never jumps. Null: no pause. */
  readonly pausedUntil: number | null;
};

/** `trouble`: 5xx, 429 and the like, no answer. `well`: any other answer, also a refusal. */
export type Sign = 'ok' | 'trouble';

/**
 * So many in a row, and it is not one request's fault: as many as are under way at once. Each of them comes again by
 * its own backoff, which alone would ask a service that is away once a second for each of thousands of employees.
 */
export const FAILED_MAX = 8;
/** A hiccup delays what comes next hardly at all. */
export const PAUSE_MIN_MS = 1_000;
/** A service that is back is found within a minute. */
export const PAUSE_MAX_MS = 60_000;
/** Doublings after which the pause is at its most. */
const DOUBLINGS_MAX = 6;

/** An attempt counts against the limit this long. A slower one may hang, and must not hold back other subjects. */
export const COUNTED_MS = 30_000;
/**
 * The most attempts of one lane in flight, counted or not, so that hung ones stay few connections and little memory.
 * Changes never get there: one ends within 60 s. Uploads may hang for minutes, and then wait for the first to time out.
 */
export const IN_FLIGHT_MAX = 32;

/**
 * Requests that share slots. A service that hangs on censuses would otherwise hold back every employment change that
 * is due after them.
 */
export type Lane = 'changes' | 'uploads';

export function fullLimit(most: number): Limit {
  return { allowed: most, failed: 0, pausedUntil: null };
}

/** From one on again: the gate was closed, or is. */
export function reducedToOne(limit: Limit): Limit {
  return { ...limit, allowed: 1 };
}

/** After an attempt. `random` gives numbers from 0 up to 1. */
export function limitAfter(
  limit: Limit,
  sign: Sign,
  { most, at, random }: { most: number; at: number; random: () => number },
): Limit {
  if (sign === 'ok') return { allowed: Math.min(most, limit.allowed + 1), failed: 0, pausedUntil: null };
  const failed = limit.failed + 1;
  const allowed = Math.max(1, Math.floor(limit.allowed / 2));
  if (failed < FAILED_MAX) return { allowed, failed, pausedUntil: null };
  const longest = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(failed - FAILED_MAX, DOUBLINGS_MAX));
  // Half of it by chance, so that several sidecars don't ask together.
  return { allowed: 1, failed, pausedUntil: at + longest * (0.5 + random() / 2) };
}

/** Returns how many more attempts of a lane may start, given when each one in flight started. */
export function freeSlots({ allowed, pausedUntil }: Limit, startedAt: readonly number[], at: number): number {
  if (pausedUntil !== null && at < pausedUntil) return 0;
  const counted = startedAt.filter((started) => at - started < COUNTED_MS).length;
  return Math.max(0, Math.min(allowed - counted, IN_FLIGHT_MAX - startedAt.length));
}
