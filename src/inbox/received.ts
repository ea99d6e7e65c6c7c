/** Between which events of the inbox a time lies: they have an index of their order, and none of their times. */
import type { Db } from '../database/tables.ts';
import { lastBefore, newestUpTo } from './arrivals.ts';

/**
 * How far the clocks of several receivers, or one clock that is set, may be apart: within this an event may have a lower
 * number and a later time than another. A minute of events is looked through in some milliseconds.
 */
const APART_MS = 60_000;
/** The last instant whose text orders as time does. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The numbers within which every event lies that was received at `from` or later, and before `until`. */
export async function numbersOf(
  db: Db,
  { from, until }: { from?: string | undefined; until?: string | undefined },
): Promise<{ above: number | undefined; upTo: number | undefined }> {
  return {
    above: from === undefined ? undefined : await newestBefore(db, from, -APART_MS),
    upTo: until === undefined ? undefined : await newestBefore(db, until, APART_MS),
  };
}

/** The number of the newest event that was received before an instant, or 0. */
async function newestBefore(db: Db, instant: string, plusMs: number): Promise<number> {
  const at = new Date(Math.min(Date.parse(instant) + plusMs, LAST_MS)).toISOString();
  const newest = await newestUpTo(db, null);
  if (newest === null || newest.received_at < at) return newest?.seq ?? 0;
  return (await lastBefore(db, at, newest))?.seq ?? 0;
}
