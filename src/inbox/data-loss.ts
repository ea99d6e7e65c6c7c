/** Data losses: detected when the database is older than its high-water mark, reported until an operator accepts them. */
import { engineOf } from '../database/engine.ts';
import { fileOf, isServed } from '../database/open.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { Log } from '../telemetry/log.ts';
import { readMark, saveMark } from './high-water-mark.ts';
import { readNewest, replayFrom } from './newest.ts';

export type DataLoss = Tables['data_losses'];

/** Advice after a loss: "replay events from 2026-… on". */
export function whatToReplay(receivedAt: string | null): string {
  const from = replayFrom(receivedAt);
  return from === null ? 'replay all events' : `replay the events from ${from} onward`;
}

/** Describes a loss, with what to replay first. */
export function describeLoss({ found_at, received_at, seq, position, ...saved }: DataLoss): string {
  const events = saved.saved_seq - seq;
  const until =
    saved.saved_received_at === null ? '' : `, the newest received at ${saved.saved_received_at},`;
  const gone =
    events > 0
      ? `${events} ${events === 1 ? 'event' : 'events'}${until} and their effects`
      : `everything after position ${position}`;
  return `${whatToReplay(received_at)}: found at ${found_at} that the database lacks ${gone}`;
}

/**
 * Compares a SQLite database with its high-water mark, and stores and returns the loss if there is one. Call it before
 * anything new is stored, which would hide the loss. A missing or unreadable mark detects nothing.
 */
export async function detectDataLoss(
  db: Db,
  databaseUrl: string,
  now: Date,
  log: Log,
): Promise<DataLoss | null> {
  if (engineOf(db) === 'postgres') return null;
  const loss = await lossBehindMark(db, databaseUrl, now);
  if (loss === null) return null;
  await transact(db, (trx) => trx.insertInto('data_losses').values(loss).execute());
  // Otherwise the next start would find the same loss.
  saveMark(databaseUrl, loss, log);
  log.error(
    {
      count: loss.saved_seq - loss.seq,
      reason: `${whatToReplay(loss.received_at)} in the provider's portal`,
    },
    'the database is older than its high-water mark: stored events are missing',
  );
  return loss;
}

async function lossBehindMark(db: Db, databaseUrl: string, now: Date): Promise<DataLoss | null> {
  const [mark, newest] = [readMark(databaseUrl), await readNewest(db)];
  const isBehind = mark !== null && (newest.position < mark.position || newest.seq < mark.seq);
  if (!isBehind) return null;
  const { position, seq, received_at } = newest;
  return {
    ...{ found_at: now.toISOString(), position, seq, received_at },
    ...{ saved_position: mark.position, saved_seq: mark.seq, saved_received_at: mark.received_at },
    ...{ accepted_at: null, accepted_reason: null },
  };
}

/** Returns the loss that the next start will detect. Null on PostgreSQL and while the database is served. */
export async function undetectedLoss(db: Db, now: Date): Promise<DataLoss | null> {
  const file = await fileOf(db);
  if (file === null) return null;
  const url = `sqlite:${file}`;
  const loss = await lossBehindMark(db, url, now);
  // Checked after the mark was read, so that the mark is not one that a running process wrote since.
  return loss === null || isServed(url) === true ? null : loss;
}

/** Returns the losses that are not accepted, then the one that no start has detected yet. */
export async function knownLosses(db: Db, now: Date): Promise<DataLoss[]> {
  const undetected = await undetectedLoss(db, now);
  const open = await openLosses(db);
  return undetected === null ? open : [...open, undetected];
}

/** Returns the losses that are not accepted, oldest first. */
export function openLosses(db: Db): Promise<DataLoss[]> {
  return db
    .selectFrom('data_losses')
    .selectAll()
    .where('accepted_at', 'is', null)
    .orderBy('found_at')
    .execute();
}

/** Accepts all losses, with a reason, and returns how many there were. */
export async function acceptLosses(trx: Trx, reason: string, now: string): Promise<number> {
  const accepted = await trx
    .updateTable('data_losses')
    .set({ accepted_at: now, accepted_reason: reason })
    .where('accepted_at', 'is', null)
    .executeTakeFirst();
  return Number(accepted.numUpdatedRows);
}
