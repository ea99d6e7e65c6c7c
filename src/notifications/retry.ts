/** When a notification is sent again. Pure. */

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
/** The first retry. */
const RETRY_MIN_MS = SECOND_MS;
/** A receiver that was down for long is told within this time after it is back. */
export const RETRY_MAX_MS = HOUR_MS;
/** After this time since its first attempt, a notification is failed. A receiver may be down over a weekend. */
export const RETRIED_FOR_MS = 72 * HOUR_MS;
/** The pause of all sending after failures only: one address receives everything. */
const PAUSE_MAX_MS = 60 * SECOND_MS;

/** Returns the wait after an attempt that failed (1 for the first): exponential, the upper half of it random. */
export function backoffMs(attempt: number, random: () => number): number {
  const most = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** attempt);
  return Math.floor(most / 2 + random() * (most / 2));
}

/** Returns the pause of the loop after so many batches in a row in which nothing was delivered. */
export function pauseMs(failedBatches: number): number {
  return Math.min(PAUSE_MAX_MS, SECOND_MS * 2 ** (failedBatches - 1));
}
