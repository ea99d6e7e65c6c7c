/** Reads deliveries to follow them: events as they arrive, and refused requests as counts. */
import { ago } from '../checks.ts';
import { isOneOf } from '../database/bulk.ts';
import { engineOf } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { type EventFilter, type StoredEvent, selectEvents } from './events.ts';
import { newestSeq } from './inbox.ts';
import { refusedSince } from './refusals.ts';

/** How long a pending event is held back, so that it is shown with its result. */
const HELD_MS = 3_000;
/** Numbers that are looked at again: on PostgreSQL an event may be committed after one with a greater number. */
const LOOK_BACK = { sqlite: 0, postgres: 512 } as const;
/** Greater than the look-back, so that each reading gets ahead. */
const EVENTS_AT_ONCE = 1_000;

/** Where a reading ended. `first`: the newest event at the beginning. `since`: the time of the beginning. */
export type Place = { readonly first: number; readonly from: number; readonly since: string };

export type Deliveries = {
  readonly events: StoredEvent[];
  /** The requests that were refused since the beginning, by cause. */
  readonly refused: { cause: string; refused: number }[];
  readonly next: Place;
  readonly isFull: boolean;
};

/**
 * Returns the deliveries after a place, in order of receipt; without a place none, and the place to begin at. An event may be
 * returned again by the next readings.
 */
export async function deliveriesAfter(
  db: Db,
  filter: EventFilter,
  place: Place | null,
  now: Date,
): Promise<Deliveries> {
  if (place === null) {
    const first = await newestSeq(db);
    const next = { first, from: first, since: now.toISOString() };
    return { events: [], refused: await refusedSince(db, now), next, isFull: false };
  }
  const { first, from, since } = place;
  const rows = await selectEvents(db, {})
    .select(['seq', 'state', 'received_at'])
    .where('seq', '>', from)
    .orderBy('seq')
    .limit(EVENTS_AT_ONCE)
    .execute();
  const late = ago(now, HELD_MS);
  const isHeld = ({ state, received_at }: (typeof rows)[number]) => state === 'pending' && received_at > late;
  const newest = rows.at(-1)?.seq ?? from;
  const oldestHeld = rows.find(isHeld)?.seq ?? Number.POSITIVE_INFINITY;
  const ready = rows.filter((row) => !isHeld(row)).map(({ seq }) => seq);
  const events = await selectEvents(db, filter)
    .selectAll()
    .where(isOneOf(db, 'seq', ready))
    .orderBy('seq')
    .execute();
  const next = Math.max(first, Math.min(newest - LOOK_BACK[engineOf(db)], oldestHeld - 1));
  return {
    events,
    refused: await refusedSince(db, new Date(since)),
    next: { first, from: next, since },
    isFull: rows.length === EVENTS_AT_ONCE,
  };
}
