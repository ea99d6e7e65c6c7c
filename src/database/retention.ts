/** How far retention has come, and its lock: the one row of `retention`. */
import { forUpdate } from './engine.ts';
import type { Db, Trx } from './tables.ts';

/** Returns the last event whose body was checked. Without the lock, another sidecar may continue or reset it. */
export async function eventsThrough(db: Db): Promise<number> {
  const row = await db.selectFrom('retention').select('events_through').executeTakeFirstOrThrow();
  return row.events_through;
}

/**
 * Takes the lock, and answers up to which event (a seq) bodies were looked at. One sidecar at a time drops, and who
 * lets an event be applied again holds off whoever would drop its body meanwhile. It is taken before rows of events.
 */
export async function holdRetention(trx: Trx): Promise<number> {
  const row = forUpdate(trx, trx.selectFrom('retention').select('events_through'));
  return (await row.executeTakeFirstOrThrow()).events_through;
}

/** Moves on, or back: events behind `seq` are looked at next. The lock is held. */
export async function setEventsThrough(trx: Trx, seq: number): Promise<void> {
  await trx.updateTable('retention').set({ events_through: seq }).execute();
}
