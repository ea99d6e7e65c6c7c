/** Conflicts: other bodies received under the id of an event. The first body counts; an operator decides about later bodies. */
import { type RawBuilder, type Selectable, sql } from 'kysely';
import Type from 'typebox';
import { insertMany, isOneOf } from '../database/bulk.ts';
import { holdRetention } from '../database/retention.ts';
import type { ConflictedEventTable, ConflictTable, Db, Trx } from '../database/tables.ts';
import { type ListPage, type PageRequest, pagesBy } from '../formats/cursor.ts';
import type { ReasonColumn } from '../security/reasons.ts';

/** Other bodies stored per event, of up to 256 KiB each. Later ones are counted, because a sender may send any number. */
export const CONFLICTS_STORED = 20;

/** Conflicts on a page: together up to 1.25 MiB. */
export const CONFLICTS_LIMIT = 5;

type OtherBody = { readonly eventId: string; readonly body: Buffer; readonly hash: Buffer };

/** Stores bodies, in order, or counts them. Returns how many, without duplicates of stored bodies. */
export async function storeConflicts(
  trx: Trx,
  others: readonly OtherBody[],
  receivedAt: string | RawBuilder<string>,
): Promise<number> {
  if (others.length === 0) return 0;
  // Other receivers, which hold it too, then wait and keep the bound. Retention sees the conflicts: the first body of an open
  // one is not dropped.
  await holdRetention(trx);
  const byEvent = Map.groupBy(others, ({ eventId }) => eventId);
  const events = await conflictedEvents(trx, [...byEvent.keys()]);
  const stored = await storedHashes(trx, [...byEvent.keys()]);
  let conflicts = 0;
  for (const { event_id, stored_count, unstored_count } of events) {
    const added = { stored: 0, unstored: 0 };
    for (const { body, hash } of byEvent.get(event_id) ?? []) {
      if (stored.has(keyOf(event_id, hash))) continue;
      if (stored_count + added.stored === CONFLICTS_STORED) added.unstored += 1;
      else {
        added.stored += 1;
        stored.add(keyOf(event_id, hash));
        const conflict = { event_id, received_at: receivedAt, body, body_hash: hash };
        await trx.insertInto('event_conflicts').values(conflict).execute();
      }
    }
    if (added.stored + added.unstored === 0) continue;
    conflicts += added.stored + added.unstored;
    await trx
      .updateTable('conflicted_events')
      .set({
        stored_count: stored_count + added.stored,
        unstored_count: unstored_count + added.unstored,
        ...(added.unstored > 0 && { last_unstored_at: receivedAt }),
        // A dismissal covers only what was received before it.
        ...{ dismissed_at: null, dismissed_reason: null },
      })
      .where('event_id', '=', event_id)
      .execute();
  }
  return conflicts;
}

/** Returns the rows of events with conflicts, after adding missing rows. */
async function conflictedEvents(
  trx: Trx,
  ids: readonly string[],
): Promise<Selectable<ConflictedEventTable>[]> {
  const rows = ids.map((id) => [id, 0, 0]);
  const columns = ['event_id', 'stored_count', 'unstored_count'] as const;
  await insertMany(trx, 'conflicted_events', columns, rows, 'on conflict (event_id) do nothing');
  return trx
    .selectFrom('conflicted_events')
    .selectAll()
    .where(isOneOf(trx, 'event_id', ids))
    .execute();
}

async function storedHashes(trx: Trx, ids: readonly string[]): Promise<Set<string>> {
  const rows = await trx
    .selectFrom('event_conflicts')
    .select(['event_id', 'body_hash'])
    .where(isOneOf(trx, 'event_id', ids))
    .execute();
  return new Set(rows.map(({ event_id, body_hash }) => keyOf(event_id, body_hash)));
}

function keyOf(eventId: string, hash: Buffer): string {
  return `${hash.toString('hex')} ${eventId}`;
}

/** Returns a subquery of the events with a conflict that is not dismissed. */
export function openConflicts(db: Db | Trx) {
  return db.selectFrom('conflicted_events').select('event_id').where('dismissed_at', 'is', null);
}

/** Marks the conflicts of an event as seen, and returns whether any was not. Earlier dismissals keep reason and time. */
export async function dismissConflicts(trx: Trx, eventId: string, reason: string, dismissedAt: string) {
  const dismissed = {
    dismissed_at: sql<string>`coalesce(dismissed_at, ${dismissedAt})`,
    dismissed_reason: sql<string>`coalesce(dismissed_reason, ${reason})`,
  };
  const { numUpdatedRows } = await trx
    .updateTable('conflicted_events')
    .set(dismissed)
    .where('event_id', '=', eventId)
    .where('dismissed_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await trx.updateTable('event_conflicts').set(dismissed).where('event_id', '=', eventId).execute();
  return true;
}

/** Returns how many conflicts an event has; null if it has none. */
export async function conflictsOf(
  db: Db | Trx,
  eventId: string,
): Promise<Selectable<ConflictedEventTable> | null> {
  const query = db.selectFrom('conflicted_events').selectAll().where('event_id', '=', eventId);
  return (await query.executeTakeFirst()) ?? null;
}

const conflictPage = pagesBy('conflicts', { conflict_id: Type.Integer({ minimum: 1 }) });

/** Returns a page of the stored conflicts of an event, oldest first. */
export async function listConflicts(
  db: Db,
  eventId: string,
  page: PageRequest,
): Promise<ListPage<Selectable<ConflictTable>>> {
  return conflictPage(db.selectFrom('event_conflicts').selectAll().where('event_id', '=', eventId), page);
}

/** A dismissal keeps its reason with the event and with each of its conflicts. */
export const DISMISSAL_REASONS: readonly ReasonColumn[] = (
  ['inbox', 'event_conflicts', 'conflicted_events'] as const
).map((table) => ({
  ...{ table, column: 'dismissed_reason', actions: ['event.dismiss'] },
  by: { column: 'event_id', is: 'resource_id' },
}));
