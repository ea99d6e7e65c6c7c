/** When events arrived, and how many need attention. */
import { sql } from 'kysely';
import { describeDuration } from '../clock.ts';
import { countOf } from '../database/bulk.ts';
import { databaseCreatedAt } from '../database/instance.ts';
import type { Db } from '../database/tables.ts';
import { openConflicts } from './conflicts.ts';

type Arrived = { seq: number; received_at: string; source: 'webhook' | 'import' };

/** Returns the newest event of the service. Imported events do not count. */
async function lastArrival(db: Db): Promise<Arrived | null> {
  let last = await newestUpTo(db, null);
  // All rows of an import have the same time of receipt, so each step skips a whole import.
  while (last !== null && last.source === 'import') last = await lastBefore(db, last.received_at, last);
  return last;
}

export type EventAge = { since: string; hasEvents: boolean };

/** Returns the time of the service's newest event, or of the creation of the database if none has arrived. */
export async function readEventAge(db: Db): Promise<EventAge> {
  const last = await lastArrival(db);
  if (last !== null) return { since: last.received_at, hasEvents: true };
  return { since: await databaseCreatedAt(db), hasEvents: false };
}

export function describeEventAge({ since, hasEvents }: EventAge, now: Date): string {
  const ms = Math.max(0, now.getTime() - Date.parse(since));
  const age = describeDuration(ms);
  return hasEvents
    ? `the last event arrived ${age} ago, at ${since}`
    : `no event has arrived since the database was created ${age} ago, at ${since}`;
}

/** Events among which the latest time of receipt is found: a clock that was wrong may have stored earlier ones since. */
const LATEST_AMONG = 1_000;

export async function latestReceipt(db: Db): Promise<string | null> {
  const newest = db.selectFrom('inbox').select('received_at').orderBy('seq', 'desc').limit(LATEST_AMONG);
  const latest = db.selectFrom(newest.as('newest')).select(({ fn }) => fn.max('received_at').as('at'));
  return (await latest.executeTakeFirstOrThrow()).at;
}

/** Returns the newest event received before an instant; `below` was not. An index on time would cost every delivery. */
async function lastBefore(db: Db, instant: string, below: Arrived): Promise<Arrived | null> {
  let [early, late] = [0, below.seq];
  let newest: Arrived | null = null;
  while (late - early > 1) {
    const middle = early + Math.floor((late - early) / 2);
    const row = await newestUpTo(db, middle);
    if (row !== null && row.received_at >= instant) late = row.seq;
    else [newest, early] = [row, middle];
  }
  return newest;
}

/** Returns the newest event with this number or a lower one; without a number the newest of all. */
async function newestUpTo(db: Db, seq: number | null): Promise<Arrived | null> {
  const row = await db
    .selectFrom('inbox')
    .select(['seq', 'received_at', 'source'])
    .$if(seq !== null, (query) => query.where('seq', '<=', seq as number))
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** How far the clocks of receivers may differ: a later event may have an earlier time of receipt. */
const CLOCK_SKEW_MS = 60_000;
/** The last instant whose text sorts by time. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Returns the range of numbers of the events received from `from` until before `until`. */
export async function numbersOf(
  db: Db,
  { from, until }: { from?: string | undefined; until?: string | undefined },
): Promise<{ above: number | undefined; upTo: number | undefined }> {
  return {
    above: from === undefined ? undefined : await newestBefore(db, from, -CLOCK_SKEW_MS),
    upTo: until === undefined ? undefined : await newestBefore(db, until, CLOCK_SKEW_MS),
  };
}

async function newestBefore(db: Db, instant: string, plusMs: number): Promise<number> {
  const at = new Date(Math.min(Date.parse(instant) + plusMs, LAST_MS)).toISOString();
  const newest = await newestUpTo(db, null);
  if (newest === null || newest.received_at < at) return newest?.seq ?? 0;
  return (await lastBefore(db, at, newest))?.seq ?? 0;
}

/** Returns the pending and open events. Conditions are literals, so that a partial index can be used. */
export async function readInboxActivity(db: Db) {
  const inbox = db.selectFrom('inbox').select('seq');
  const pending = inbox.where(sql<boolean>`state = 'pending'`);
  const oldest = await pending.select('received_at').orderBy('seq').limit(1).executeTakeFirst();
  return {
    pending: oldest === undefined ? 0 : await countOf(db, pending),
    oldest_pending_at: oldest?.received_at ?? null,
    // Without dismissed ones, like the conflicts.
    quarantined: await countOf(db, inbox.where(sql<boolean>`state = 'quarantined' and dismissed_at is null`)),
    conflicts: await countOf(db, openConflicts(db)),
    last_received_at: (await lastArrival(db))?.received_at ?? null,
  };
}
