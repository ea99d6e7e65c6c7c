import type { Clock } from '../clock.ts';
import type { Trx } from '../database/tables.ts';

/** A claim whose owner died is taken over after this; promised within 60 seconds (fault list, promise 7). */
export const LEASE_MS = 30_000;
/** Three beats in a lease: one may be late and one lost. */
export const HEARTBEAT_MS = 10_000;

/**
 * The clock that leases and due times are compared by: the database's, so that senders agree. SQLite has none of
 * its own and every process on the file shares this machine's; an engine with a server asks it here.
 */
export async function databaseNow(_trx: Trx, clock: Clock): Promise<Date> {
  return clock();
}

/** An instant as the database stores it, `ms` after `now`. */
export function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
