/** A claim whose owner died is taken over after this; promised within 60 seconds (fault list, promise 7). */
export const LEASE_MS = 30_000;
/** Three beats in a lease: one may be late and one lost. */
export const HEARTBEAT_MS = 10_000;

/**
 * How much later than this sender another one may have read the clock before it wrote what is seen here: no
 * transaction lasts longer. Only a time that lies still further ahead comes from a clock that jumped.
 */
export const READ_LATER_MS = 15_000;

/** An instant as the database stores it, `ms` after `now`. */
export function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
