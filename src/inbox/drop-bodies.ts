/** RETENTION_EVENTS: drops the bodies of old events, oldest first, and keeps their SHA-256. */
import { type Selectable, sql } from 'kysely';
import { insertMany, isOneOf, updateMany } from '../database/bulk.ts';
import { engineOf } from '../database/engine.ts';
import { eventsThrough, holdRetention, setEventsThrough } from '../database/retention.ts';
import type { Db, InboxTable, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { type Found, type Look, look, MAY_LOSE_ITS_BODY, settledConflicts } from './due-bodies.ts';
import { sha256 } from './stored-body.ts';

/** Bodies deleted per transaction: about 10 of the 50 ms that the write lock may be held. */
const DROPPED_AT_ONCE = 128;
/** The same for large ones: a body has up to 256 KiB, and each page that it frees is overwritten. */
const DROPPED_BYTES = 512 * 1024;

/**
 * Drops some of the bodies of applied and ignored events that were received before an instant. An event with
 * an open conflict keeps both bodies. Returns how many were dropped, and whether there may be more.
 */
export async function dropBodies(db: Db, before: string): Promise<{ dropped: number; more: boolean }> {
  const from = await eventsThrough(db);
  const { found, through, ended } = bounded(await look(db, from, before));
  if (through === from) return { dropped: 0, more: false };
  const hashes = await hashesOf(db, found);
  const dropped = await transact(db, async (trx) => {
    // Another sidecar continued or reset it, or reprocesses one of these events: check again.
    if ((await holdRetention(trx)) !== from || (await isPendingUpTo(trx, through))) return null;
    await setEventsThrough(trx, through);
    return engineOf(trx) === 'sqlite' ? rewrite(trx, hashes) : update(trx, hashes);
  });
  return { dropped: dropped ?? 0, more: dropped === null || !ended };
}

async function isPendingUpTo(trx: Trx, seq: number): Promise<boolean> {
  const oldest = await trx
    .selectFrom('inbox')
    .select('seq')
    .where('state', '=', sql.lit('pending'))
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return oldest !== undefined && oldest.seq <= seq;
}

type Hashes = ReadonlyMap<number, Buffer>;

function update(trx: Trx, hashes: Hashes): Promise<number> {
  return updateMany(
    trx,
    'inbox',
    ['body', 'body_hash'],
    'seq',
    [...hashes].map(([seq, hash]) => [null, hash, seq]),
    "inbox.body is not null and inbox.state in ('applied', 'ignored')",
  );
}

/**
 * Inserts the rows again without their bodies on SQLite. An update would leave holes that are never reused,
 * because new events go to the end of the table. Pages that become empty are reused.
 */
async function rewrite(trx: Trx, hashes: Hashes): Promise<number> {
  const removed: Selectable<InboxTable>[] = await trx
    .deleteFrom('inbox')
    .where(isOneOf(trx, 'seq', [...hashes.keys()]))
    .where('body', 'is not', null)
    .where('state', 'in', [...MAY_LOSE_ITS_BODY])
    .returningAll()
    .execute();
  const [first] = removed;
  if (first === undefined) return 0;
  const columns = Object.keys(first) as (keyof InboxTable)[];
  const rows = removed
    .toSorted((one, other) => one.seq - other.seq)
    .map((row) => ({ ...row, body: null, body_hash: hashes.get(row.seq) ?? null }));
  return insertMany(
    trx,
    'inbox',
    columns,
    rows.map((row) => columns.map((column) => row[column])),
  );
}

/** Drops the bodies of dismissed conflicts. Their hashes are stored already. */
export async function dropConflictBodies(
  db: Db,
  before: string,
): Promise<{ dropped: number; more: boolean }> {
  const dropped = await transact(db, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('event_conflicts')
      .set({ body: null })
      .where(
        'conflict_id',
        'in',
        settledConflicts(trx, before).select('conflict_id').orderBy('conflict_id').limit(CONFLICTS_AT_ONCE),
      )
      .executeTakeFirst();
    return Number(numUpdatedRows);
  });
  return { dropped, more: dropped === CONFLICTS_AT_ONCE };
}

/** Conflicts are rare, but their bodies may be large. */
const CONFLICTS_AT_ONCE = 20;

/** Limits a look to what one transaction may drop, but at least one body. */
function bounded({ found, through, ended }: Look): Look {
  let bytes = 0;
  const end = found.findIndex((one, index) => {
    bytes += one.bytes;
    return index === DROPPED_AT_ONCE || (index > 0 && bytes > DROPPED_BYTES);
  });
  if (end < 0) return { found, through, ended };
  const taken = found.slice(0, end);
  return { found: taken, through: taken.at(-1)?.seq ?? through, ended: false };
}

/** Runs outside the transaction, so that reading and computing block no other work. */
async function hashesOf(db: Db, found: readonly Found[]): Promise<Hashes> {
  const seqs = found.map(({ seq }) => seq);
  const rows = await db
    .selectFrom('inbox')
    .select(['seq', 'body'])
    .where(isOneOf(db, 'seq', seqs))
    .execute();
  return new Map(rows.flatMap(({ seq, body }) => (body === null ? [] : [[seq, sha256(body)]])));
}
