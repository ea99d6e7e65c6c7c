/** A claim whose owner died is taken over after this; promised within 60 seconds (fault list, promise 7). */
export const LEASE_MS = 30_000;
/** Three beats in a lease: one may be late and one lost. */
export const HEARTBEAT_MS = 10_000;

/** An instant as the database stores it, `ms` after `now`. */
export function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
