/** The inbox: events in order of receipt, which are pending until they are applied. */
import { createHash } from 'node:crypto';
import { CompiledQuery, type NotNull, type RawBuilder, sql } from 'kysely';
import type { Clock } from '../clock.ts';
import { insertMany, isOneOf, updateMany } from '../database/bulk.ts';
import { type Engine, engineOf } from '../database/engine.ts';
import type { Db, EventState, InboxTable, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { storeConflicts } from './conflicts.ts';
import type { NewestEvent } from './data-loss.ts';

type EventSource = InboxTable['source'];

/** A verified message, or an event of an import, not yet stored. */
export type Arrival = { readonly eventId: string; readonly body: Buffer };

/** A time of receipt: a text or, on PostgreSQL, the server's clock. */
export type ReceivedAt = string | RawBuilder<string>;

/**
 * Returns the time of receipt of the next event. On PostgreSQL it is the server's, which the starts of uploads
 * have too, at the start of the statement: what happens while it waits for a lock happens after the receipt.
 */
export function receivedNow(engine: Engine, now: Clock): ReceivedAt {
  return engine === 'sqlite' ? now().toISOString() : SERVER_TIME;
}

const SERVER_TIME = sql<string>`to_char(statement_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export function sha256(body: Buffer): Buffer {
  return createHash('sha256').update(body).digest();
}

export const IMPORTED = 'import_';

/** Returns the id of an imported event: the same row of a file is always the same event. */
export function importId(hash: Buffer): string {
  return `${IMPORTED}${hash.toString('hex')}`;
}

export type StoredBatch = {
  accepted: number;
  duplicates: number;
  conflicts: number;
  /** The last accepted event; null without one. */
  newest: NewestEvent | null;
};

export type PendingEvent = Awaited<ReturnType<typeof pendingEvents>>[number];

/** The result of an event; `reason` states why it was ignored or quarantined. */
export type EventOutcome = {
  seq: number;
  state: Exclude<EventState, 'pending'>;
  eventType: string | null;
  envelopeId: string | null;
  reason: string | null;
};

/** Stores a batch in order. A known id is a duplicate or, with another body, a conflict: the first body counts. */
export async function storeArrivals(
  trx: Trx,
  arrivals: readonly Arrival[],
  receivedAt: ReceivedAt,
  source: EventSource = 'webhook',
): Promise<StoredBatch> {
  const { accepted, newest } = await insertArrivals(trx, arrivals, receivedAt, source);
  const duplicates = arrivals.length - accepted;
  const conflicts =
    duplicates === 0 ? 0 : await storeConflicts(trx, await otherBodies(trx, arrivals), receivedAt);
  return { accepted, duplicates, conflicts, newest };
}

const LAST_INSERTED = CompiledQuery.raw('select last_insert_rowid() as seq');

async function lastInserted(trx: Trx, received_at: string): Promise<NewestEvent> {
  const { rows } = await trx.executeQuery<{ seq: number }>(LAST_INSERTED);
  return { seq: rows[0]?.seq ?? 0, received_at };
}

/** Does the same without a transaction where PostgreSQL needs none: one round trip instead of three. */
export async function storeBatch(
  db: Db,
  arrivals: readonly Arrival[],
  receivedAt: ReceivedAt,
): Promise<StoredBatch> {
  if (engineOf(db) === 'sqlite') return transact(db, (trx) => storeArrivals(trx, arrivals, receivedAt));
  const { accepted, newest } = await insertArrivals(db, arrivals, receivedAt, 'webhook');
  const duplicates = arrivals.length - accepted;
  const conflicts =
    duplicates === 0
      ? 0
      : await transact(db, async (trx) => storeConflicts(trx, await otherBodies(trx, arrivals), receivedAt));
  return { accepted, duplicates, conflicts, newest };
}

/** On PostgreSQL seqs follow arrival, and rows are inserted by id, so that receivers of the same ids cannot deadlock. */
async function insertArrivals(
  db: Db | Trx,
  arrivals: readonly Arrival[],
  receivedAt: ReceivedAt,
  source: EventSource,
): Promise<Pick<StoredBatch, 'accepted' | 'newest'>> {
  if (engineOf(db) === 'sqlite') {
    const accepted = await insertMany(
      db as Trx,
      'inbox',
      ['event_id', 'source', 'received_at', 'body', 'state'],
      arrivals.map(({ eventId, body }) => [eventId, source, receivedAt, body, 'pending']),
      'on conflict (event_id) do nothing',
    );
    return { accepted, newest: accepted === 0 ? null : await lastInserted(db as Trx, receivedAt as string) };
  }
  const ids = arrivals.map((arrival) => arrival.eventId);
  const bodies = arrivals.map((arrival) => arrival.body);
  const { rows } = await sql<{ accepted: number; seq: number | null; received_at: string }>`
    with arrived as materialized (
      select nextval((select pg_get_serial_sequence('inbox', 'seq'))) as seq, event_id, body
      from unnest(${ids}::text[], ${bodies}::bytea[]) with ordinality as arrival (event_id, body, place)
      order by place
    ), stored as (
      insert into inbox (seq, event_id, source, received_at, body, state)
      select seq, event_id, ${source}, ${receivedAt}, body, 'pending' from arrived order by event_id, seq
      on conflict (event_id) do nothing
      returning seq, received_at
    )
    select count(*) as accepted, max(seq) as seq, max(received_at) as received_at from stored`.execute(db);
  const { accepted = 0, seq = null, received_at = '' } = rows[0] ?? {};
  return { accepted, newest: seq === null ? null : { seq, received_at } };
}

/** Returns the arrivals whose body is not the first one of their event. */
async function otherBodies(trx: Trx, arrivals: readonly Arrival[]) {
  const ids = [...new Set(arrivals.map(({ eventId }) => eventId))];
  const rows = await trx
    .selectFrom('inbox')
    .select(['event_id', 'body', 'body_hash'])
    .where(isOneOf(trx, 'event_id', ids))
    .execute();
  const firsts = new Map(rows.map((row) => [row.event_id, row]));
  return arrivals
    .filter(({ eventId, body }) => !firsts.get(eventId)?.body?.equals(body))
    .map(({ eventId, body }) => ({ eventId, body, hash: sha256(body) }))
    .filter(({ eventId, hash }) => !firsts.get(eventId)?.body_hash?.equals(hash));
}

export async function eventsById(db: Db, ids: readonly string[]) {
  const rows = await db
    .selectFrom('inbox')
    .select(['event_id', 'event_type', 'state', 'finished_at', 'reprocessed'])
    .where(isOneOf(db, 'event_id', ids))
    .execute();
  return new Map(rows.map((row) => [row.event_id, row]));
}

export async function newestSeq(db: Db): Promise<number> {
  const { newest } = await db
    .selectFrom('inbox')
    .select((eb) => eb.fn.max('seq').as('newest'))
    .executeTakeFirstOrThrow();
  return newest ?? 0;
}

export async function hasPendingEvents(db: Db, after = 0): Promise<boolean> {
  return (await pendingAfter(db, after).select('seq').limit(1).executeTakeFirst()) !== undefined;
}

export async function isPendingUpTo(trx: Trx, seq: number): Promise<boolean> {
  const oldest = await pendingAfter(trx, 0).select('seq').orderBy('seq').limit(1).executeTakeFirst();
  return oldest !== undefined && oldest.seq <= seq;
}

/** Returns the oldest pending events. Each `limit` is a statement of its own, so use few different ones. */
export function pendingEvents(trx: Trx, limit: number, after: number) {
  return (
    pendingAfter(trx, after)
      .select(['seq', 'event_id', 'received_at', 'body', 'reprocessed'])
      .orderBy('seq')
      // As a parameter, SQLite would use the value to plan and plan again for each batch.
      .limit(sql.lit(limit))
      // The schema lets no pending event be without its body.
      .$narrowType<{ body: NotNull }>()
      .execute()
  );
}

function pendingAfter(db: Db | Trx, after: number) {
  return (
    db
      .selectFrom('inbox')
      .where('state', '=', sql.lit('pending'))
      // Only where it is needed: with it, SQLite would scan the table from there.
      .$if(after > 0, (query) => query.where('seq', '>', after))
  );
}

export async function finishEvents(trx: Trx, outcomes: readonly EventOutcome[], finishedAt: string) {
  await updateMany(
    trx,
    'inbox',
    ['state', 'event_type', 'envelope_id', 'reason', 'finished_at'],
    'seq',
    outcomes.map((outcome) => [
      outcome.state,
      outcome.eventType,
      outcome.envelopeId,
      outcome.reason,
      finishedAt,
      outcome.seq,
    ]),
    // Another applier may have finished an event that failed here.
    engineOf(trx) === 'sqlite' ? STILL_PENDING : `${STILL_PENDING} and ${AMONG_THE_GIVEN}`,
  );
}

const STILL_PENDING = "inbox.state = 'pending'";
/** PostgreSQL may search the index of pending events, and must not read it from its beginning. */
const AMONG_THE_GIVEN = 'inbox.seq between (select min(seq) from given) and (select max(seq) from given)';
