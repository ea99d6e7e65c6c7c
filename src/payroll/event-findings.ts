/** What the checks of events look for. */
import { sql } from 'kysely';
import type { Db } from '../database/tables.ts';
import { refusedSince } from '../inbound/refusals.ts';
import { describeLoss, knownLosses } from '../observe/lost-tail.ts';
import { readRhythm } from '../observe/rhythm.ts';
import { isTooLong, silenceOf } from '../observe/silence.ts';
import { ago, FOUND_AT_MOST, type Found, fail, type Question } from './findings.ts';

/** How far back refused deliveries matter: the provider retries an event for some 27 hours. */
export const REFUSED_HOURS = 28;
/** Events are applied within a second; one that waits longer than this shows a stopped loop or a locked database. */
const PENDING_MS = 60_000;
/** Longer times are told in days. */
const HOURS_TOLD = 96;

const HOUR_MS = 3_600_000;

/** A database that was found to be older than it had been. */
export async function tailLost(db: Db, { now }: Question): Promise<Found[]> {
  const losses = await knownLosses(db, now);
  return losses.map((loss) => fail(describeLoss(loss)));
}

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
  const silence = silenceOf(await readRhythm(db, now));
  if (!isTooLong(silence, now)) return [];
  const since = new Date(silence.since).toISOString();
  return [{ example: `none since ${since}, longer than ${lasting(silence.allowedMs)}`, result: 'warn' }];
}

function lasting(ms: number): string {
  const hours = Math.round(ms / HOUR_MS);
  return hours < HOURS_TOLD ? `${hours} hours` : `${Math.round(hours / 24)} days`;
}
