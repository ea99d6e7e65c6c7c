/** The progress of retention and its lock: the one row of `retention`. */
import { forUpdate } from './engine.ts';
import type { Db, Trx } from './tables.ts';

/** Returns the last event whose body was checked. Without the lock, another sidecar may continue or reset it. */
export async function eventsThrough(db: Db): Promise<number> {
  const row = await db.selectFrom('retention').select('events_through_seq').executeTakeFirstOrThrow();
  return row.events_through_seq;
}

/**
 * Takes the lock and returns `eventsThrough`. One sidecar at a time drops bodies, and reprocessing an event takes the
 * lock too, so that its body is not dropped. Take it before rows of events.
 */
export async function holdRetention(trx: Trx): Promise<number> {
  const row = forUpdate(trx, trx.selectFrom('retention').select('events_through_seq'));
  return (await row.executeTakeFirstOrThrow()).events_through_seq;
}

/** Sets the last checked event, forward or back. The caller holds the lock. */
export async function setEventsThrough(trx: Trx, seq: number): Promise<void> {
  await trx.updateTable('retention').set({ events_through_seq: seq }).execute();
}
