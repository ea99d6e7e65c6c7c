/** Manual actions on the inbox: list, get, reprocess, dismiss with a reason. */
import { type Selectable, sql } from 'kysely';
import Type from 'typebox';
import { isOneOf, startsWithOneOf } from '../database/bulk.ts';
import { holdRetention, setEventsThrough } from '../database/retention.ts';
import type { ConflictedEventTable, Db, EventState, InboxTable, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { conflict, notFound } from '../errors.ts';
import { type ListPage, type PageRequest, pagesBy } from '../formats/cursor.ts';
import { versionOfEvent } from '../ledger/record.ts';
import { type Acting, record } from '../security/audit.ts';
import { numbersOf } from './arrivals.ts';
import { conflictsOf, dismissConflicts, openConflicts } from './conflicts.ts';
import { firstWithChange } from './contract-changes.ts';
import { sha256 } from './inbox.ts';

export type StoredEvent = Selectable<InboxTable>;
/** The SHA-256 replaces a body that retention deletes: exactly one of the two is null. */
export type KeptBody = Pick<StoredEvent, 'body' | 'body_hash'>;

export type EventFilter = {
  state?: EventState | undefined;
  eventType?: string | undefined;
  /** Received at or after, and before: instants in milliseconds UTC. */
  from?: string | undefined;
  until?: string | undefined;
  dismissed?: boolean | undefined;
  /** Whether another body was received under its ID and is not dismissed. */
  conflict?: boolean | undefined;
};

const eventPage = pagesBy('events', { seq: Type.Integer({ minimum: 1 }) }, 'desc');

/** Returns a page of events, newest first. */
export async function listEvents(
  db: Db,
  filter: EventFilter,
  page: PageRequest,
): Promise<ListPage<StoredEvent>> {
  const { above, upTo } = await numbersOf(db, filter);
  const events = selectEvents(db, filter)
    .$if(above !== undefined, (query) => query.where('seq', '>', above as number))
    .$if(upTo !== undefined, (query) => query.where('seq', '<=', upTo as number))
    .selectAll();
  return eventPage(events, page);
}

/** Returns the first events whose ids start with one of the texts. */
export function eventsStartingWith(db: Db, texts: readonly string[], limit: number) {
  return db
    .selectFrom('inbox')
    .select(['event_id', 'received_at'])
    .where(startsWithOneOf('event_id', texts))
    .orderBy('event_id')
    .limit(limit)
    .execute();
}

export type WholeEvent = { event: StoredEvent; conflicts: Selectable<ConflictedEventTable> | null };

export async function getEvent(db: Db | Trx, eventId: string): Promise<WholeEvent | null> {
  const event = await db.selectFrom('inbox').selectAll().where('event_id', '=', eventId).executeTakeFirst();
  if (event === undefined) return null;
  return { event, conflicts: await conflictsOf(db, eventId) };
}

/** Sets an event back to pending from any state. Nothing that it did is done twice. Throws NOT_FOUND or CONFLICT. */
export async function reprocessEvent(trx: Trx, eventId: string, acting: Acting): Promise<void> {
  const through = await holdRetention(trx);
  const event = await trx
    .selectFrom('inbox')
    .select(['seq', 'body_hash'])
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  if (event === undefined) throw notFound('event');
  if (event.body_hash !== null) throw conflict(BODY_DROPPED);
  if ((await backToPending(trx, [event.seq], through)) > 0)
    await record(trx, acting, { action: 'event.reprocess', resource: eventId });
}

/** An event as evidence of its receipt: its delivery id, its time, and its body or only the SHA-256 of it. */
export type ReceivedEvent = {
  id: string;
  source: InboxTable['source'];
  received_at: string;
  event_type: string | null;
  sha256: string;
  /** Null if retention dropped it, or the caller may not see it. */
  body: string | null;
};

/** Returns these events in order of receipt. `withBodies`: also their bodies, which contain personal data. */
export async function receivedEvents(
  db: Db,
  ids: readonly string[],
  withBodies: boolean,
): Promise<ReceivedEvent[]> {
  const rows = await db
    .selectFrom('inbox')
    .select(['event_id', 'source', 'received_at', 'event_type', 'body', 'body_hash'])
    .where(isOneOf(db, 'event_id', ids))
    .orderBy('seq')
    .execute();
  return rows.map(({ event_id, body, body_hash, ...event }) => ({
    id: event_id,
    ...event,
    sha256: (body === null ? body_hash : sha256(body))?.toString('hex') ?? '',
    body: withBodies && body !== null ? body.toString('utf8') : null,
  }));
}

const BODY_DROPPED =
  'The body of this event was deleted after RETENTION_EVENTS, so it cannot be reprocessed. Its effect remains until a newer event replaces it.';

/** Events set to pending per transaction: about 10 of the 50 ms that the write lock may be held. */
const REPROCESSED_AT_ONCE = 500;

/** Events without a body are skipped. */
type Reprocessed = { reprocessed: number; withoutBody: number };

/**
 * Sets every event that was received before now and matches the filter back to pending, oldest first, in steps, so
 * that deliveries are stored in between. Skips dismissed events. `stepped` receives the count of a step and the total.
 */
export async function reprocessAll(
  db: Db,
  filter: EventFilter,
  acting: Acting,
  stepped: (step: number, all: number) => void | Promise<void>,
): Promise<Reprocessed> {
  // Without an upper bound, the loop would chase events that arrive and are applied while it runs.
  const { now } = acting;
  const until = filter.until === undefined || filter.until > now ? now : filter.until;
  const bounded = { ...filter, until, dismissed: false };
  let reprocessed = 0;
  let withoutBody = 0;
  for (let after: number | null = 0; after !== null; ) {
    const step: { after: number; limit: number } = { after, limit: REPROCESSED_AT_ONCE };
    const done = await transact(db, (trx) => reprocessEvents(trx, bounded, step, acting));
    reprocessed += done.reprocessed;
    withoutBody += done.withoutBody;
    after = done.next;
    await stepped(done.reprocessed, reprocessed);
  }
  return { reprocessed, withoutBody };
}

export async function reprocessEvents(
  trx: Trx,
  filter: EventFilter,
  step: { after: number; limit: number },
  acting: Acting,
) {
  const through = await holdRetention(trx);
  const rows = await selectEvents(trx, filter)
    .select(['seq', 'body_hash'])
    .where('seq', '>', step.after)
    .where('state', '<>', 'pending')
    .orderBy('seq')
    .limit(step.limit)
    .execute();
  const seqs = rows.filter((row) => row.body_hash === null).map((row) => row.seq);
  const count = await backToPending(trx, seqs, through);
  const { state, eventType: event_type, from, until } = filter;
  const details = { count, state, event_type, from, until };
  if (count > 0) await record(trx, acting, { action: 'event.reprocess', resource: null, details });
  const next = rows.length < step.limit ? null : (rows.at(-1)?.seq ?? null);
  return { reprocessed: seqs.length, withoutBody: rows.length - seqs.length, next };
}

/**
 * Sets events, in order of seq, back to pending, and returns how many were not. Retention returns to the first: they may
 * lose their bodies later.
 */
async function backToPending(trx: Trx, seqs: readonly number[], through: number): Promise<number> {
  const [first] = seqs;
  if (first === undefined) return 0;
  if (first <= through) await setEventsThrough(trx, first - 1);
  const undone = { reason: null, finished_at: null, dismissed_at: null, dismissed_reason: null };
  const { numUpdatedRows } = await trx
    .updateTable('inbox')
    .set({ state: 'pending', ...undone, reprocessed: sql<number>`reprocessed + 1` })
    .where(isOneOf(trx, 'seq', seqs))
    .where('state', '<>', 'pending')
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/**
 * Marks an event that needs a decision, and its conflicts, as seen: readiness no longer fails for them. What was dismissed
 * before keeps its first reason and time, and is not recorded again. Returns whether anything changed. Throws NOT_FOUND or CONFLICT.
 */
export async function dismissEvent(
  trx: Trx,
  eventId: string,
  reason: string,
  acting: Acting,
): Promise<boolean> {
  const through = await holdRetention(trx);
  const event = await trx
    .selectFrom('inbox')
    .select(['seq', 'state', 'dismissed_at'])
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  if (event === undefined) throw notFound('event');
  const version = await versionOfEvent(trx, eventId);
  const dismissed = { dismissed_at: acting.now, dismissed_reason: reason };
  const wasConflicted = (await conflictsOf(trx, eventId)) !== null;
  const hasConflicts = await dismissConflicts(trx, eventId, reason, acting.now);
  // The first body of a dismissed conflict may be dropped like any other.
  if (hasConflicts && event.seq <= through) await setEventsThrough(trx, event.seq - 1);
  const isMarked = version?.tie_changed === 1 || version?.future_dated === 1;
  const needsDecision =
    isMarked || event.state === 'quarantined' || (await firstWithChange(trx, [eventId])).size > 0;
  if (!needsDecision && !wasConflicted)
    throw conflict('The event is not quarantined and has no conflict, tie or change of the contract.');
  const isDecided = needsDecision && event.dismissed_at === null;
  if (!isDecided && !hasConflicts) return false;
  if (isDecided) await trx.updateTable('inbox').set(dismissed).where('seq', '=', event.seq).execute();
  await record(trx, acting, { action: 'event.dismiss', resource: eventId, reason });
  return true;
}

// The state is a literal, because an engine does not use a partial index for a bound value.
export function selectEvents(
  db: Db | Trx,
  { state, eventType, from, until, dismissed, conflict }: EventFilter,
) {
  // These lists are short and have own indexes; the index of types would read a million events.
  const isShort = (state !== undefined && state !== 'applied') || dismissed === true;
  const type = isShort ? sql<string>`coalesce(event_type, '')` : sql.ref<string>('event_type');
  return db
    .selectFrom('inbox')
    .$if(state !== undefined, (query) => query.where('state', '=', sql.lit(state as EventState)))
    .$if(eventType !== undefined, (query) => query.where(type, '=', eventType as string))
    .$if(from !== undefined, (query) => query.where('received_at', '>=', from as string))
    .$if(until !== undefined, (query) => query.where('received_at', '<', until as string))
    .$if(dismissed !== undefined, (query) => query.where('dismissed_at', dismissed ? 'is not' : 'is', null))
    .$if(conflict !== undefined, (query) =>
      query.where('event_id', conflict === true ? 'in' : 'not in', openConflicts(db)),
    );
}
