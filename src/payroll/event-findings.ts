/** What the checks of events look for. */
import { sql } from 'kysely';
import type { Db } from '../database/tables.ts';
import { refusedSince } from '../inbound/refusals.ts';
import { ago, FOUND_AT_MOST, type Found, fail, type Question } from './findings.ts';

/** How far back refused deliveries matter: the provider retries an event for some 27 hours. */
export const REFUSED_HOURS = 28;
/** Events are applied within a second; one that waits longer than this shows a stopped loop or a locked database. */
const PENDING_MS = 60_000;
/** Enrolments change every week in all but the smallest companies: a longer silence may be a broken subscription. */
export const SILENT_DAYS = 7;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export async function eventsPending(db: Db, { now }: Question): Promise<Found[]> {
  const late = ago(now, PENDING_MS);
  const events = await db
    .selectFrom('inbox')
    .select(['event_id', 'received_at'])
    .where('state', '=', sql.lit('pending'))
    .orderBy('seq')
    .limit(FOUND_AT_MOST)
    .execute();
  return events.map(({ event_id, received_at }) => ({
    example: event_id,
    result: received_at < late ? 'fail' : 'warn',
  }));
}

export async function eventsQuarantined(db: Db): Promise<Found[]> {
  const events = await db
    .selectFrom('inbox')
    .select('event_id')
    .where('state', '=', sql.lit('quarantined'))
    .where('dismissed_at', 'is', null)
    .orderBy('seq')
    .limit(FOUND_AT_MOST)
    .execute();
  return events.map((event) => fail(event.event_id));
}

export async function eventsInConflict(db: Db): Promise<Found[]> {
  const conflicts = await db
    .selectFrom('conflicts')
    .select('event_id')
    .distinct()
    .where('dismissed_at', 'is', null)
    .orderBy('event_id')
    .limit(FOUND_AT_MOST)
    .execute();
  return conflicts.map((conflict) => fail(conflict.event_id));
}

/** Versions with a mark that asks for a person; not those whose event was dismissed. */
export async function versionsMarked(db: Db, mark: 'tie_changed' | 'ahead'): Promise<Found[]> {
  const versions = await db
    .selectFrom('versions')
    .innerJoin('inbox', 'inbox.event_id', 'versions.event_id')
    .select('versions.event_id')
    .where(`versions.${mark}`, '=', sql.lit(1 as const))
    .where('inbox.dismissed_at', 'is', null)
    .orderBy('versions.position')
    .limit(FOUND_AT_MOST)
    .execute();
  return versions.map((version) => fail(version.event_id));
}

/** Never fails: anybody can post to a public address, and nobody shall stop a payroll by it. */
export async function signaturesRefused(db: Db, { now }: Question): Promise<Found[]> {
  const counts = await refusedSince(db, new Date(now.getTime() - REFUSED_HOURS * HOUR_MS));
  return counts.map(({ cause, refused }) => ({
    example: `${cause}: ${refused}`,
    result: 'warn',
    count: refused,
  }));
}

export async function eventsSilent(db: Db, { now }: Question): Promise<Found[]> {
  const since = ago(now, SILENT_DAYS * DAY_MS);
  return (await hasComeSince(db, since)) ? [] : [{ example: `none since ${since}`, result: 'warn' }];
}

/** Looks back at what the service sent; an import says nothing of whether its messages arrive. */
async function hasComeSince(db: Db, since: string): Promise<boolean> {
  for (let last: number | null = null; ; ) {
    const events: LookedAt[] = await eventsBefore(db, last);
    for (const { source, received_at } of events) {
      if (received_at < since) return false;
      if (source === 'webhook') return true;
    }
    if (events.length < LOOKED_AT_ONCE) return false;
    last = events.at(-1)?.seq as number;
    // Requests of other people have their turn.
    await new Promise(setImmediate);
  }
}

type LookedAt = { seq: number; source: 'webhook' | 'import'; received_at: string };

/** Events looked at with one query: the first is the one sought, but for the days after a large import. */
const LOOKED_AT_ONCE = 1_000;

function eventsBefore(db: Db, seq: number | null): Promise<LookedAt[]> {
  return db
    .selectFrom('inbox')
    .select(['seq', 'source', 'received_at'])
    .$if(seq !== null, (query) => query.where('seq', '<', seq as number))
    .orderBy('seq', 'desc')
    .limit(LOOKED_AT_ONCE)
    .execute();
}
