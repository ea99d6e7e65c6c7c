/** Finds and counts the bodies that RETENTION_EVENTS may drop, in order of receipt. */
import { type SqlBool, sql } from 'kysely';
import { eventsThrough } from '../database/retention.ts';
import type { Db, EventState, Trx } from '../database/tables.ts';

/** Events read by one query, without their bodies. */
const LOOKED_AT_ONCE = 1_000;

/** The bodies due for deletion: their number, total bytes, and the oldest time of receipt. */
export type Due = { count: number; bytes: number; oldest: string | null };

export type Found = { seq: number; event_id: string; received_at: string; bytes: number };
/** `through`: the last event that was checked. `ended`: no later event is due. */
export type Look = { found: Found[]; through: number; ended: boolean };

/** Returns what `dropBodies` would drop in total. */
export async function bodiesDue(db: Db, before: string): Promise<Due> {
  const due: Due = { count: 0, bytes: 0, oldest: null };
  for (let from = await eventsThrough(db); ; ) {
    const { found, through, ended } = await look(db, from, before);
    due.count += found.length;
    for (const { bytes } of found) due.bytes += bytes;
    due.oldest ??= found[0]?.received_at ?? null;
    if (ended) return due;
    from = through;
  }
}

/** Returns what `dropConflictBodies` would drop in total. */
export async function conflictBodiesDue(db: Db, before: string): Promise<Due> {
  const { count, bytes, oldest } = await settledConflicts(db, before)
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      sql<number>`coalesce(sum(length(body)), 0)`.as('bytes'),
      fn.min<string | null>('received_at').as('oldest'),
    ])
    .executeTakeFirstOrThrow();
  return { count: Number(count), bytes: Number(bytes), oldest };
}

/** Returns the next events after the seq `from`, and which of them are due. */
export async function look(db: Db, from: number, before: string): Promise<Look> {
  const rows = await db
    .selectFrom('inbox')
    .select(['seq', 'event_id', 'received_at', 'state'])
    .select([sql<number | null>`length(body)`.as('bytes'), IN_CONFLICT.as('in_conflict')])
    .where('seq', '>', from)
    .orderBy('seq')
    .limit(LOOKED_AT_ONCE)
    .execute();
  // Wait for an event that is about to be reprocessed, because it may lose its body afterward.
  const end = rows.findIndex(({ received_at, state }) => received_at >= before || state === 'pending');
  const old = end < 0 ? rows : rows.slice(0, end);
  const found = old.flatMap(({ state, in_conflict, bytes, ...row }) =>
    MAY_LOSE_ITS_BODY.has(state) && !in_conflict && bytes !== null ? [{ ...row, bytes }] : [],
  );
  return { found, through: old.at(-1)?.seq ?? from, ended: old.length < LOOKED_AT_ONCE };
}

export const MAY_LOSE_ITS_BODY: ReadonlySet<EventState> = new Set<EventState>(['applied', 'ignored']);
const IN_CONFLICT = sql<SqlBool>`exists (select 1 from event_conflicts
  where event_conflicts.event_id = inbox.event_id and event_conflicts.dismissed_at is null)`;

/** Returns the query of dismissed conflicts whose bodies are still stored. */
export function settledConflicts(db: Db | Trx, before: string) {
  return db
    .selectFrom('event_conflicts')
    .where('body', 'is not', null)
    .where('dismissed_at', 'is not', null)
    .where('received_at', '<', before);
}
