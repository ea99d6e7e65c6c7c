/**
 * Data losses: a SQLite database older than its high-water mark, a file next to it, was replaced or lost its log. For those
 * of PostgreSQL, see server-loss.ts.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { compile } from '../contract/check.ts';
import { nullable } from '../contract/fields.ts';
import { engineOf } from '../database/engine.ts';
import { SUFFIX } from '../database/files.ts';
import { fileOf, isServed, sqliteFile } from '../database/open.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codeOf } from '../errors.ts';
import { readPosition } from '../ledger/position.ts';
import { type Acting, record } from '../security/audit.ts';
import type { ReasonColumn } from '../security/reasons.ts';
import type { Log } from '../telemetry/log.ts';

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** The ledger's newest position, and the newest event in order of receipt: 0 and null if there is none. */
const Mark = Type.Object({
  position: count,
  seq: count,
  received_at: nullable(Type.String({ format: 'instant' })),
});
type Mark = Static<typeof Mark>;

const mark = compile(Mark);

/** How far a database has come. */
export type Newest = Mark & { event_id: string | null };
export type NewestEvent = Pick<Mark, 'seq' | 'received_at'>;

export async function readNewest(db: Db): Promise<Newest> {
  const position = await readPosition(db);
  const newest = await db
    .selectFrom('inbox')
    .select(['seq', 'event_id', 'received_at'])
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return { position, ...(newest ?? { seq: 0, event_id: null, received_at: null }) };
}

/** How often the mark is saved, apart from commits. Newer writes of other processes can be lost undetected. */
const SAVE_EVERY_MS = 1_000;
/** Every mark is padded to this size, so that a new mark overwrites the whole previous mark. */
const MARK_BYTES = 128;

function markPath(databaseUrl: string): string {
  return `${sqliteFile(databaseUrl)}${SUFFIX.highWaterMark}`;
}

/** Returns the saved mark, or null if it is missing or unreadable. */
export function readMark(databaseUrl: string): Mark | null {
  try {
    const saved: unknown = JSON.parse(readFileSync(markPath(databaseUrl), 'utf8'));
    return mark.accepts(saved) ? saved : null;
  } catch {
    return null;
  }
}

/** Writes a mark within one disk sector. It is not synced: a power loss can only leave an older mark. */
export function writeMark(databaseUrl: string, { position, seq, received_at }: Mark): void {
  const path = markPath(databaseUrl);
  const text = `${JSON.stringify({ position, seq, received_at }).padEnd(MARK_BYTES - 1)}\n`;
  try {
    // Most file systems flush a file that is renamed over another, and every commit would wait for that.
    writeFileSync(path, text, { flag: 'r+' });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}

function saveMark(databaseUrl: string, mark: Mark, log: Log): boolean {
  try {
    writeMark(databaseUrl, mark);
    return true;
  } catch (error) {
    // A full disk must not stop anything.
    log.debug({ code: codeOf(error) }, 'the high-water mark could not be saved');
    return false;
  }
}

export function removeMark(databaseUrl: string): void {
  rmSync(markPath(databaseUrl), { force: true });
}

/** Saves the mark of a SQLite file with each commit of events, so that a single lost event is detected, and each second. */
export function keepHighWaterMark(db: Db, databaseUrl: string, log: Log) {
  let saved: Mark = readMark(databaseUrl) ?? { position: 0, seq: 0, received_at: null };
  const stopping = new AbortController();
  const save = (mark: Mark): void => {
    const isNewer = mark.position !== saved.position || mark.seq !== saved.seq;
    if (isNewer && saveMark(databaseUrl, mark, log)) saved = mark;
  };
  const update = async (): Promise<void> => {
    // Other readers of the database report why it can't be read.
    const newest = await readNewest(db).catch(() => saved);
    // Events may have been stored since it was read, and a damaged file may return older rows.
    const { seq, received_at } = newest.seq > saved.seq ? newest : saved;
    save({ position: Math.max(newest.position, saved.position), seq, received_at });
  };
  const keep = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await delay(SAVE_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {});
      await update();
    }
  };
  const keeping = keep();
  return {
    stored: (newest: NewestEvent): void => save({ ...saved, ...newest }),
    async stop(): Promise<void> {
      stopping.abort();
      await keeping;
      await update();
    },
  };
}

/** The provider retries for up to 27.5 hours (docs/internals/provider.md) after the time that its portal shows. */
const RETRIED_MS = 28 * 3_600_000;

/** Returns the instant from which to replay in the provider's portal; null means everything. */
export function replayFrom(receivedAt: string | null): string | null {
  return receivedAt === null ? null : new Date(Date.parse(receivedAt) - RETRIED_MS).toISOString();
}

export function whatToReplay(receivedAt: string | null): string {
  const from = replayFrom(receivedAt);
  return from === null ? 'replay all events' : `replay the events from ${from} onward`;
}

export type DataLoss = Tables['data_losses'];

export function describeLoss({ found_at, received_at, seq, position, ...saved }: DataLoss): string {
  const { audit_head, saved_audit_head } = saved;
  const events = saved.saved_seq - seq;
  // The numbers of a PostgreSQL server have gaps.
  const number = audit_head === null ? `${events}` : `up to ${events}`;
  const until =
    saved.saved_received_at === null ? '' : `, the newest received at ${saved.saved_received_at},`;
  const gone: string[] = [];
  if (events > 0) gone.push(`${number} ${events === 1 ? 'event' : 'events'}${until} and their effects`);
  else if (position < saved.saved_position) gone.push(`everything after position ${position}`);
  if (audit_head !== null && audit_head < (saved_audit_head ?? 0))
    gone.push(`the actions after audit record ${audit_head}`);
  return `${whatToReplay(received_at)}: found at ${found_at} that the database lacks ${gone.join(', and ')}`;
}

/** Stores the loss of a SQLite database behind its mark. Call it before anything new is stored, which would hide it. */
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
  logLoss(log, loss, 'the database is older than its high-water mark: stored events are missing');
  return loss;
}

export function logLoss(log: Log, { saved_seq, seq, received_at }: DataLoss, message: string): void {
  const reason = `${whatToReplay(received_at)} in the provider's portal`;
  log.error({ count: saved_seq - seq, reason }, message);
}

async function lossBehindMark(db: Db, databaseUrl: string, now: Date): Promise<DataLoss | null> {
  const [mark, newest] = [readMark(databaseUrl), await readNewest(db)];
  const isBehind = mark !== null && (newest.position < mark.position || newest.seq < mark.seq);
  if (!isBehind) return null;
  const { position, seq, received_at } = newest;
  return {
    ...{ found_at: now.toISOString(), position, seq, received_at },
    ...{ saved_position: mark.position, saved_seq: mark.seq, saved_received_at: mark.received_at },
    ...{ audit_head: null, saved_audit_head: null, accepted_at: null, accepted_reason: null },
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

/** Returns the losses that are not accepted, then the loss that no start has detected yet. */
export async function knownLosses(db: Db, now: Date): Promise<DataLoss[]> {
  const undetected = await undetectedLoss(db, now);
  const open = await openLosses(db);
  return undetected === null ? open : [...open, undetected];
}

export function openLosses(db: Db): Promise<DataLoss[]> {
  return db
    .selectFrom('data_losses')
    .selectAll()
    .where('accepted_at', 'is', null)
    .orderBy('found_at')
    .execute();
}

export async function acceptLosses(trx: Trx, reason: string, acting: Acting): Promise<number> {
  const accepted = await trx
    .updateTable('data_losses')
    .set({ accepted_at: acting.now, accepted_reason: reason })
    .where('accepted_at', 'is', null)
    .executeTakeFirst();
  const count = Number(accepted.numUpdatedRows);
  if (count > 0)
    await record(trx, acting, { action: 'loss.accept', resource: null, details: { count }, reason });
  return count;
}

export const LOSS_REASONS: ReasonColumn = {
  ...{ table: 'data_losses', column: 'accepted_reason', actions: ['loss.accept'] },
  by: { column: 'accepted_at', is: 'recorded_at' },
};
