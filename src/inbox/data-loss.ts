/** A database that is behind its hint: noticed when it is started, and told until a person has seen to it. */
import { engineOf } from '../database/engine.ts';
import { codeOf } from '../database/errors.ts';
import { fileOf, isServed } from '../database/open.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { type Newest, readTail, replayFrom } from '../database/tail.ts';
import { transact } from '../database/transaction.ts';
import type { Log } from '../telemetry/log.ts';
import { type Hint, hintWriter, readHint } from './high-water-mark.ts';

export type LostTail = Tables['data_losses'];

/**
 * How often the high-water mark is saved, apart from every commit of events: positions and events of other processes
 * that are newer than the last save can be lost undetected.
 */
const EVERY_MS = 1_000;

/** "replay from 2026-…": what a person has to do about a loss. */
export function whatToReplay(receivedAt: string | null): string {
  const from = replayFrom(receivedAt);
  return from === null ? 'replay everything' : `replay what is from ${from} on`;
}

/** One loss in words: what to replay first, since that is what a person needs. */
export function describeLoss({ found_at, received_at, seq, position, ...noted }: LostTail): string {
  const events = noted.noted_seq - seq;
  const until = noted.noted_received_at === null ? '' : `, the newest of ${noted.noted_received_at},`;
  const gone =
    events > 0
      ? `${events} ${events === 1 ? 'event' : 'events'}${until} and what came of that`
      : `what was known behind position ${position}`;
  return `${whatToReplay(received_at)}: found at ${found_at} that the database lacks ${gone}`;
}

/**
 * Compares a SQLite database with the hint beside it, and keeps in the database what was found. Before anything new is
 * stored, which would hide it. Missing and unreadable hints say nothing. Answers what was found.
 */
export async function noticeLostTail(
  db: Db,
  databaseUrl: string,
  now: Date,
  log: Log,
): Promise<LostTail | null> {
  if (engineOf(db) === 'postgres') return null;
  const lost = await behindHint(db, databaseUrl, now);
  if (lost === null) return null;
  await transact(db, (trx) => trx.insertInto('data_losses').values(lost).execute());
  // Else the next start would find the same once more.
  note(hintWriter(databaseUrl), lost, log);
  log.error(
    {
      count: lost.noted_seq - lost.seq,
      reason: `${whatToReplay(lost.received_at)} in the provider's portal`,
    },
    'the database is older than it was: events that were stored are gone',
  );
  return lost;
}

/** What the database lacks of what its hint says; null when it lacks nothing, or there is no hint. */
async function behindHint(db: Db, databaseUrl: string, now: Date): Promise<LostTail | null> {
  const [hint, tail] = [readHint(databaseUrl), await readTail(db)];
  const isBehind = hint !== null && (tail.position < hint.position || tail.seq < hint.seq);
  if (!isBehind) return null;
  const { position, seq, received_at } = tail;
  return {
    ...{ found_at: now.toISOString(), position, seq, received_at },
    ...{ noted_position: hint.position, noted_seq: hint.seq, noted_received_at: hint.received_at },
    ...{ accepted_at: null, accepted_reason: null },
  };
}

/**
 * A loss that the next start will notice: of a database that nobody serves, compared with its hint. Writes nothing.
 * Null on PostgreSQL, and while somebody serves: then it was noticed, and the hint may be ahead of what an older
 * snapshot reads here.
 */
export async function unnoticedLoss(db: Db, now: Date): Promise<LostTail | null> {
  const file = await fileOf(db);
  if (file === null) return null;
  const url = `sqlite:${file}`;
  const lost = await behindHint(db, url, now);
  // Asked after the hint was read: who has written it since serves still.
  return lost === null || isServed(url) === true ? null : lost;
}

/** Every loss that a person must see to: those noted and not accepted, then the one that no start has noticed yet. */
export async function knownLosses(db: Db, now: Date): Promise<LostTail[]> {
  const unnoticed = await unnoticedLoss(db, now);
  const open = await openLosses(db);
  return unnoticed === null ? open : [...open, unnoticed];
}

/** Losses that nobody has accepted yet, oldest first. */
export function openLosses(db: Db): Promise<LostTail[]> {
  return db
    .selectFrom('data_losses')
    .selectAll()
    .where('accepted_at', 'is', null)
    .orderBy('found_at')
    .execute();
}

/** Marks all losses as replayed or given up, with a reason. Answers how many. */
export async function acceptLosses(trx: Trx, reason: string, now: string): Promise<number> {
  const accepted = await trx
    .updateTable('data_losses')
    .set({ accepted_at: now, accepted_reason: reason })
    .where('accepted_at', 'is', null)
    .executeTakeFirst();
  return Number(accepted.numUpdatedRows);
}

export type HighWaterMark = {
  /** Saves that events up to this one are committed. */
  stored(newest: Newest): void;
  /** Saves it a last time. */
  stop(): Promise<void>;
};

/**
 * Saves the high-water mark of a SQLite database: with each commit of events, so that losing a single acknowledged event
 * is detected, and once a second when anything else changed.
 */
export function keepHint(db: Db, databaseUrl: string, log: Log): HighWaterMark {
  if (engineOf(db) === 'postgres') return { stored: () => {}, stop: async () => {} };
  let saved: Hint = readHint(databaseUrl) ?? { position: 0, seq: 0, received_at: null };
  let looking: Promise<void> | null = null;
  const write = hintWriter(databaseUrl);
  const save = (mark: Hint): void => {
    const { position, seq } = saved;
    if ((mark.position !== position || mark.seq !== seq) && note(write, mark, log)) saved = mark;
  };
  const look = async (): Promise<void> => {
    const { position, seq, received_at } = await readTail(db);
    // Events may have been stored since it was read, and a damaged file may return older rows.
    const newest = seq > saved.seq ? { seq, received_at } : newestOf(saved);
    save({ position: Math.max(position, saved.position), ...newest });
  };
  const lookOnce = (): Promise<void> => {
    // Whatever else reads the database reports why it can't be read.
    looking ??= look()
      .catch(() => {})
      .finally(() => {
        looking = null;
      });
    return looking;
  };
  const timer = setInterval(lookOnce, EVERY_MS);
  return {
    stored: (newest) => save({ ...saved, ...newest }),
    async stop() {
      clearInterval(timer);
      await looking;
      await lookOnce();
    },
  };
}

function newestOf({ seq, received_at }: Hint): Newest {
  return { seq, received_at };
}

/** It helps, and is never needed: a full disk must stop nothing. */
function note(write: (hint: Hint) => void, hint: Hint, log: Log): boolean {
  try {
    write(hint);
    return true;
  } catch (error) {
    log.debug({ code: codeOf(error) }, 'how far the database is could not be noted beside it');
    return false;
  }
}
