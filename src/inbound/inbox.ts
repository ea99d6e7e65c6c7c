import { createHash } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { insertMany, placeholders, runForRows, slices } from '../database/bulk.ts';
import type { Db, EventState, InboxTable, Trx } from '../database/tables.ts';

/** A verified message, not yet stored. */
export type Arrival = { readonly eventId: string; readonly body: Buffer };
export type Stored = { accepted: number; duplicates: number; conflicts: number };

/** A stored event that waits to be applied. */
export type PendingEvent = Pick<
  Selectable<InboxTable>,
  'seq' | 'event_id' | 'received_at' | 'body' | 'reprocessed'
>;

/** What became of an event; `reason` says why it was ignored or quarantined, or what was noted. */
export type Outcome = {
  seq: number;
  state: Exclude<EventState, 'pending'>;
  eventType: string | null;
  envelopeId: string | null;
  reason: string | null;
};

/**
 * Stores a batch in order of arrival. A known id is a duplicate and is stored once, for ever; a known id with
 * another body is kept as a conflict for a person to see, and the first body stands.
 */
export async function storeArrivals(
  trx: Trx,
  arrivals: readonly Arrival[],
  receivedAt: string,
): Promise<Stored> {
  const accepted = await insertMany(
    trx,
    'inbox',
    ['event_id', 'source', 'received_at', 'body', 'state'],
    arrivals.map(({ eventId, body }) => [eventId, 'webhook', receivedAt, body, 'pending']),
    'on conflict (event_id) do nothing',
  );
  if (accepted === arrivals.length) return { accepted, duplicates: 0, conflicts: 0 };
  const conflicts = await storeConflicts(trx, arrivals, receivedAt);
  return { accepted, duplicates: arrivals.length - accepted, conflicts };
}

async function storeConflicts(trx: Trx, arrivals: readonly Arrival[], receivedAt: string): Promise<number> {
  let conflicts = 0;
  for (const { eventId, body } of arrivals) {
    const first = await trx
      .selectFrom('inbox')
      .select('body')
      .where('event_id', '=', eventId)
      .executeTakeFirstOrThrow();
    if (first.body.equals(body)) continue;
    const result = await trx
      .insertInto('conflicts')
      .values({
        event_id: eventId,
        received_at: receivedAt,
        body,
        body_hash: createHash('sha256').update(body).digest(),
        dismissed_at: null,
        dismissed_reason: null,
      })
      .onConflict((conflict) => conflict.columns(['event_id', 'body_hash']).doNothing())
      .executeTakeFirst();
    conflicts += Number(result.numInsertedOrUpdatedRows ?? 0);
  }
  return conflicts;
}

/** Whether there is anything to apply: a look that locks and writes nothing. */
export async function hasPendingEvents(db: Db): Promise<boolean> {
  const one = await db
    .selectFrom('inbox')
    .select('seq')
    .where('state', '=', sql.lit('pending'))
    .limit(1)
    .executeTakeFirst();
  return one !== undefined;
}

/** The oldest pending events, in order of receipt. */
export function pendingEvents(trx: Trx, limit: number): Promise<PendingEvent[]> {
  return trx
    .selectFrom('inbox')
    .select(['seq', 'event_id', 'received_at', 'body', 'reprocessed'])
    .where('state', '=', sql.lit('pending'))
    .orderBy('seq')
    .limit(limit)
    .execute();
}

/** Marks events with what became of them. */
export async function finishEvents(
  trx: Trx,
  outcomes: readonly Outcome[],
  finishedAt: string,
): Promise<void> {
  for (const slice of slices(outcomes)) {
    const values = slice.flatMap((outcome) => [
      outcome.seq,
      outcome.state,
      outcome.eventType,
      outcome.envelopeId,
      outcome.reason,
    ]);
    await runForRows(trx, 'finishEvents', slice.length, finishText, [...values, finishedAt]);
  }
}

function finishText(rows: number): string {
  return `with outcome (seq, state, event_type, envelope_id, reason) as (values ${placeholders(rows, 5)})
    update inbox set state = outcome.state, event_type = outcome.event_type, envelope_id = outcome.envelope_id,
      reason = outcome.reason, finished_at = ?
    from outcome where inbox.seq = cast(outcome.seq as bigint)`;
}
