/**
 * Limits how many requests are in flight, by how the last attempts ended. A service in trouble gets one request at a
 * time, with growing pauses; then each response allows one more, so that the number doubles each round. Unlike the
 * circuit breaker, which is for a wrong address or key and shared, the limit is each sender's own. Pure.
 */
import { doubled } from './retry.ts';
import type { Ended } from './sender.ts';

export type Limit = {
  /** How many may be in flight now. */
  readonly allowed: number;
  /** Consecutive attempts that found the service in trouble. */
  readonly failed: number;
  /** No request starts before this time of a monotonic clock, in milliseconds. Null: no pause. */
  readonly pausedUntil: number | null;
};

/** So many failures in a row are not one request's fault. */
export const FAILED_MAX = 8;
/** Short, so that a brief failure delays little. */
export const PAUSE_MIN_MS = 1_000;
/** A service that recovered is detected within a minute. */
export const PAUSE_MAX_MS = 60_000;

/** An attempt counts against the limit this long. A slower one may hang and must not delay other subjects. */
export const COUNTED_MS = 30_000;
/** The most attempts of one lane in flight, counted or not, to bound connections and memory. Only uploads reach it. */
export const IN_FLIGHT_MAX = 32;

export function fullLimit(most: number): Limit {
  return { allowed: most, failed: 0, pausedUntil: null };
}

/** Starts over, because the circuit breaker is or was paused. */
export function reducedToOne(limit: Limit): Limit {
  return { ...limit, allowed: 1 };
}

/** Returns the limit after a claim ended. `random` returns numbers in [0, 1). */
export function limitAfter(
  limit: Limit,
  how: Ended,
  { most, at, random }: { most: number; at: number; random: () => number },
): Limit {
  if (how === 'delivered' || how === 'rejected' || how === 'hold') {
    return { allowed: Math.min(most, limit.allowed + 1), failed: 0, pausedUntil: null };
  }
  if (how !== 'retry') return limit;
  const failed = limit.failed + 1;
  const allowed = Math.max(1, Math.floor(limit.allowed / 2));
  if (failed < FAILED_MAX) return { allowed, failed, pausedUntil: null };
  const longest = doubled(PAUSE_MIN_MS, PAUSE_MAX_MS, failed - FAILED_MAX);
  // Half of the pause is random, so that several sidecars do not send at the same time.
  return { allowed: 1, failed, pausedUntil: at + longest * (0.5 + random() / 2) };
}

/** Returns how many more attempts of a lane may start, given when each one in flight started. */
export function freeSlots({ allowed, pausedUntil }: Limit, startedAt: readonly number[], at: number): number {
  if (pausedUntil !== null && at < pausedUntil) return 0;
  const counted = startedAt.filter((started) => at - started < COUNTED_MS).length;
  return Math.max(0, Math.min(allowed - counted, IN_FLIGHT_MAX - startedAt.length));
}
