/** Follows deliveries: events as they arrive, and refused requests as counts. */
import type { Clock } from '../clock.ts';
import { isOneOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import { type EventFilter, type StoredEvent, selectEvents } from './events.ts';
import { newestSeq } from './inbox.ts';
import { refusedByMinute } from './refusals.ts';

/** How long a pending event is held back, so that it is shown with its result. */
const HELD_MS = 3_000;
/** Numbers that are looked at again: on PostgreSQL an event may be committed after one with a greater number. */
const LOOK_BACK = 512;
const EVENTS_AT_ONCE = 500;
/** How long a minute may get further counts: receivers save them late while the database is unavailable. */
const REFUSED_WITHIN_MS = 60 * 60_000;

export type Followed = { events: StoredEvent[]; refused: { cause: string; refused: number }[] };

/** Returns a function that returns the deliveries since its last call, at first since now, in order of receipt. */
export async function createFollower(db: Db, filter: EventFilter, now: Clock) {
  const nextEvents = await createEventsReader(db, filter, now);
  const nextRefused = await createRefusedReader(db, now);
  return async (): Promise<Followed> => ({ events: await nextEvents(), refused: await nextRefused() });
}

/** Returns a function that returns the events that arrived since its last call. */
async function createEventsReader(db: Db, filter: EventFilter, now: Clock) {
  const first = await newestSeq(db);
  const shown = new Set<number>();
  let from = first;
  return async (): Promise<StoredEvent[]> => {
    const late = new Date(now().getTime() - HELD_MS).toISOString();
    const ready: number[] = [];
    let [newest, oldestHeld] = [from, Number.POSITIVE_INFINITY];
    for (let after = from; ; after = newest) {
      const rows = await selectEvents(db, {})
        .select(['seq', 'state', 'received_at'])
        .where('seq', '>', after)
        .orderBy('seq')
        .limit(EVENTS_AT_ONCE)
        .execute();
      for (const { seq, state, received_at } of rows) {
        newest = seq;
        if (shown.has(seq)) continue;
        if (state === 'pending' && received_at > late) oldestHeld = Math.min(oldestHeld, seq);
        else ready.push(seq);
      }
      if (rows.length < EVENTS_AT_ONCE) break;
    }
    for (const seq of ready) shown.add(seq);
    from = Math.max(first, Math.min(newest - LOOK_BACK, oldestHeld - 1));
    for (const seq of shown) if (seq <= from) shown.delete(seq);
    return selectEvents(db, filter)
      .selectAll()
      .where(isOneOf(db, 'seq', ready))
      .orderBy('seq')
      .execute();
  };
}

/** Returns a function that returns the requests that were refused since its last call, by cause. */
async function createRefusedReader(db: Db, now: Clock) {
  const read = () => refusedByMinute(db, new Date(now().getTime() - REFUSED_WITHIN_MS));
  const keyOf = ({ minute, cause }: { minute: string; cause: string }) => `${minute} ${cause}`;
  let before = await read();
  return async (): Promise<Followed['refused']> => {
    const known = new Map(before.map((row) => [keyOf(row), row.refused_count]));
    before = await read();
    const refused = new Map<string, number>();
    for (const row of before) {
      const more = row.refused_count - (known.get(keyOf(row)) ?? 0);
      if (more > 0) refused.set(row.cause, (refused.get(row.cause) ?? 0) + more);
    }
    return [...refused].map(([cause, count]) => ({ cause, refused: count }));
  };
}
