/** RETENTION_EVENTS: counts and drops the bodies of old events, oldest first, and keeps their SHA-256. */
import { type Selectable, type SqlBool, sql } from 'kysely';
import { insertRows, isOneOf, updateMany } from '../database/bulk.ts';
import { engineOf } from '../database/engine.ts';
import { eventsThrough, holdRetention, setEventsThrough } from '../database/retention.ts';
import type { Db, EventState, InboxTable, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { isPendingUpTo, sha256 } from './inbox.ts';

/** Bodies deleted per transaction: about 10 of the 50 ms that the write lock may be held. */
const DROPPED_AT_ONCE = 128;
/** The same for large ones: a body has up to 256 KiB, and each page that it frees is overwritten. */
const DROPPED_BYTES = 512 * 1024;
/** Conflicts are rare, but their bodies may be large. */
const CONFLICTS_AT_ONCE = 20;
const LOOKED_AT_ONCE = 1_000;

const MAY_LOSE_ITS_BODY: ReadonlySet<EventState> = new Set<EventState>(['applied', 'ignored']);

/** The bodies due for deletion: their number, total bytes, and the oldest time of receipt. */
export type BodiesDue = { count: number; bytes: number; oldest: string | null };
type Dropping = { dropped: number; more: boolean };

const HAS_OPEN_CONFLICT = sql<SqlBool>`exists (select 1 from conflicted_events
  where conflicted_events.event_id = inbox.event_id and conflicted_events.dismissed_at is null)`;

/** Drops some old bodies of applied and ignored events. Events with an open conflict keep their bodies. */
export async function dropBodies(db: Db, before: string): Promise<Dropping> {
  const from = await eventsThrough(db);
  const { due: candidates, through, ended } = bounded(await checkAfter(db, from, before));
  if (through === from) return { dropped: 0, more: false };
  const seqs = candidates.map(({ seq }) => seq);
  // Outside the transaction, so that reading and computing block no other work.
  const bodies = await db
    .selectFrom('inbox')
    .select(['seq', 'body'])
    .where(isOneOf(db, 'seq', seqs))
    .execute();
  const hashes = new Map(bodies.flatMap(({ seq, body }) => (body === null ? [] : [[seq, sha256(body)]])));
  const dropped = await transact(db, async (trx) => {
    // Another sidecar continued or reset it, or reprocesses one of these events, or a conflict arrived: check again.
    if ((await holdRetention(trx)) !== from || (await isPendingUpTo(trx, through))) return null;
    await setEventsThrough(trx, through);
    const kept = await inConflict(trx, seqs);
    const due = new Map([...hashes].filter(([seq]) => !kept.has(seq)));
    if (engineOf(trx) === 'sqlite') return rewrite(trx, due);
    const rows = [...due].map(([seq, hash]) => [null, hash, seq]);
    const mayLoseIt = "inbox.body is not null and inbox.state in ('applied', 'ignored')";
    return updateMany(trx, 'inbox', ['body', 'body_hash'], 'seq', rows, mayLoseIt);
  });
  return { dropped: dropped ?? 0, more: dropped === null || !ended };
}

/** Returns the events that have an open conflict, of these. */
async function inConflict(trx: Trx, seqs: readonly number[]): Promise<Set<number>> {
  const rows = await trx
    .selectFrom('inbox')
    .select('seq')
    .where(isOneOf(trx, 'seq', seqs))
    .where(HAS_OPEN_CONFLICT)
    .execute();
  return new Set(rows.map(({ seq }) => seq));
}

/** Inserts rows of SQLite again without bodies: updates leave holes, as new events go to the end of the table. */
async function rewrite(trx: Trx, hashes: ReadonlyMap<number, Buffer>): Promise<number> {
  const removed: Selectable<InboxTable>[] = await trx
    .deleteFrom('inbox')
    .where(isOneOf(trx, 'seq', [...hashes.keys()]))
    .where('body', 'is not', null)
    .where('state', 'in', [...MAY_LOSE_ITS_BODY])
    .returningAll()
    .execute();
  const rows = removed
    .toSorted((one, other) => one.seq - other.seq)
    .map((row) => ({ ...row, body: null, body_hash: hashes.get(row.seq) ?? null }));
  return insertRows(trx, 'inbox', rows);
}

/** Drops the bodies of dismissed conflicts. Their hashes are stored already. */
export async function dropConflictBodies(db: Db, before: string): Promise<Dropping> {
  const dropped = await transact(db, async (trx) => {
    await holdRetention(trx);
    const some = settledConflicts(trx, before).select('conflict_id').orderBy('conflict_id');
    const { numUpdatedRows } = await trx
      .updateTable('event_conflicts')
      .set({ body: null })
      .where('conflict_id', 'in', some.limit(CONFLICTS_AT_ONCE))
      .executeTakeFirst();
    return Number(numUpdatedRows);
  });
  return { dropped, more: dropped === CONFLICTS_AT_ONCE };
}

export async function bodiesDue(db: Db, before: string): Promise<BodiesDue> {
  const total: BodiesDue = { count: 0, bytes: 0, oldest: null };
  for (let from = await eventsThrough(db); ; ) {
    const { due, through, ended } = await checkAfter(db, from, before);
    total.count += due.length;
    for (const { bytes } of due) total.bytes += bytes;
    total.oldest ??= due[0]?.received_at ?? null;
    if (ended) return total;
    from = through;
  }
}

export async function conflictBodiesDue(db: Db, before: string): Promise<BodiesDue> {
  const { count, bytes, oldest } = await settledConflicts(db, before)
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      sql<number>`coalesce(sum(length(body)), 0)`.as('bytes'),
      fn.min<string | null>('received_at').as('oldest'),
    ])
    .executeTakeFirstOrThrow();
  return { count: Number(count), bytes: Number(bytes), oldest };
}

function settledConflicts(db: Db | Trx, before: string) {
  return db
    .selectFrom('event_conflicts')
    .where('body', 'is not', null)
    .where('dismissed_at', 'is not', null)
    .where('received_at', '<', before);
}

/** `through`: the last event that was checked. `ended`: no later event is due. */
type CheckedEvents = {
  due: { seq: number; received_at: string; bytes: number }[];
  through: number;
  ended: boolean;
};

/** Returns the next events after the seq `from`, and which of them are due. */
async function checkAfter(db: Db, from: number, before: string): Promise<CheckedEvents> {
  const rows = await db
    .selectFrom('inbox')
    .select(['seq', 'received_at', 'state', sql<number | null>`length(body)`.as('bytes')])
    .select(HAS_OPEN_CONFLICT.as('in_conflict'))
    .where('seq', '>', from)
    .orderBy('seq')
    .limit(LOOKED_AT_ONCE)
    .execute();
  // Stop at a pending event: it needs its body until it is applied.
  const end = rows.findIndex(({ received_at, state }) => received_at >= before || state === 'pending');
  const old = end < 0 ? rows : rows.slice(0, end);
  const due = old.flatMap(({ seq, received_at, state, in_conflict, bytes }) =>
    MAY_LOSE_ITS_BODY.has(state) && !in_conflict && bytes !== null ? [{ seq, received_at, bytes }] : [],
  );
  return { due, through: old.at(-1)?.seq ?? from, ended: old.length < LOOKED_AT_ONCE };
}

/** Limits checked events to what one transaction may drop, but at least one body. */
function bounded(all: CheckedEvents): CheckedEvents {
  let bytes = 0;
  const end = all.due.findIndex((event, index) => {
    bytes += event.bytes;
    return index === DROPPED_AT_ONCE || (index > 0 && bytes > DROPPED_BYTES);
  });
  if (end < 0) return all;
  const due = all.due.slice(0, end);
  return { due, through: due.at(-1)?.seq ?? all.through, ended: false };
}
