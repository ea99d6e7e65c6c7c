const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** What the delivery provider waits before each attempt of an event, 27.5 hours in all (field notes). */
export const RETRY_DELAYS_MS: readonly number[] = [
  ...[0, 5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS],
];

/** A day of the provider's takes under two minutes of ours: the first retries come after 5 and 300 ms. */
export const RETRY_SCALE = 0.001;

/** Milliseconds from a failed attempt (the first is 1) to the next one; null when that was the last. */
export function delayAfter(attempt: number, scale: number): number | null {
  const delay = RETRY_DELAYS_MS[attempt];
  return delay === undefined ? null : delay * scale;
}
