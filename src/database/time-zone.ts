/**
 * The time zone of a database: its days are "today" and dates of receipt. It is stored at the first start and changed by a
 * command alone, so that facts keep their dates. Times stay UTC.
 */
import { dayIn, UTC } from '../clock.ts';
import type { Db, Trx } from './tables.ts';

/** By handle, and by each of its transactions. */
const zones = new WeakMap<Db | Trx, string>();

export function timeZoneOf(db: Db | Trx): string {
  return zones.get(db) ?? UTC;
}

export function setTimeZone(db: Db | Trx, zone: string): void {
  zones.set(db, zone);
}

/** Returns the day of a time, or of UTC text, in the database's time zone. */
export function dayAt(db: Db | Trx, time: Date | string): string {
  return dayIn(timeZoneOf(db), time);
}
