/**
 * Data losses of a PostgreSQL server: it lacks what this process has seen in it, such as after a failover to a standby that
 * had not received everything, or after an older dump was restored.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../clock.ts';
import { lockNames } from '../database/engine.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { type Head, isRecorded, readHead } from '../security/audit-chain.ts';
import type { Log } from '../telemetry/log.ts';
import { logLoss, type NewestEvent, readNewest } from './data-loss.ts';

type DataLoss = Tables['data_losses'];
type Seen = NewestEvent & { position: number; audit: Head };

/** How often the server is read. Losses of what is newer than the last reading, apart from events, go undetected. */
const LOOK_EVERY_MS = 1_000;
const NOTHING: Seen = { seq: 0, received_at: null, position: 0, audit: { record_id: 0, hash: '' } };

/** Compares the server with the newest that this process has seen in it, and records what is missing. */
export function createServerWatch(db: Db, now: Clock, log: Log) {
  let seen = NOTHING;
  const look = async (): Promise<void> => {
    const before = seen;
    // One connection leads to one server.
    const { newest, loss } = await db.connection().execute(async (connection) => {
      const newest = await readSeen(connection);
      return { newest, loss: await lossSince(connection, before, newest, now()) };
    });
    if (loss === null) {
      // An event may have been stored since.
      const { seq, received_at } = newest.seq > seen.seq ? newest : seen;
      seen = { ...newest, seq, received_at };
      return;
    }
    await transact(db, (trx) => recordLoss(trx, loss));
    seen = newest;
    logLoss(log, loss, 'the database server lacks what it had: stored events or changes are missing');
  };
  return {
    stored(newest: NewestEvent): void {
      if (newest.seq > seen.seq) seen = { ...seen, ...newest };
    },
    look,
    /** Looks each second until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        // Others report why the server cannot be read. What was seen is compared once it can.
        await look().catch(() => {});
        await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      }
    },
  };
}

/** Throws on a standby, to which a proxy may lead and which may have less than its primary. */
async function readSeen(db: Db): Promise<Seen> {
  const { rows } = await sql`select 1 where current_setting('transaction_read_only') = 'off'`.execute(db);
  if (rows.length === 0) throw new Error('read-only');
  const { seq, received_at, position } = await readNewest(db);
  return { seq, received_at, position, audit: await readHead(db) };
}

/** Returns what is missing of `before`, also if new events have taken the same numbers since. */
async function lossSince(db: Db, before: Seen, newest: Seen, now: Date): Promise<DataLoss | null> {
  const kept = before.seq === 0 ? NOTHING : await newestKept(db, before);
  const isAuditKept = before.audit.record_id === 0 || (await isRecorded(db, before.audit));
  const isEventKept = kept.seq === before.seq && kept.received_at === before.received_at;
  if (isEventKept && newest.position >= before.position && isAuditKept) return null;
  const { record_id } = before.audit;
  return {
    ...{ found_at: now.toISOString(), position: Math.min(newest.position, before.position) },
    ...{ seq: kept.seq, received_at: kept.received_at },
    audit_head: isAuditKept ? record_id : Math.min(newest.audit.record_id, record_id - 1),
    ...{ saved_position: before.position, saved_seq: before.seq, saved_received_at: before.received_at },
    ...{ saved_audit_head: record_id, accepted_at: null, accepted_reason: null },
  };
}

/** Returns the event itself, or the newest of those before it. */
async function newestKept(db: Db, { seq, received_at }: NewestEvent): Promise<NewestEvent> {
  const kept = await db
    .selectFrom('inbox')
    .select(['seq', 'received_at'])
    .where('seq', '<=', seq)
    .where('received_at', '<=', received_at ?? '')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return kept ?? NOTHING;
}

/** Every sidecar on the server detects the same loss, of which each has seen a part. */
async function recordLoss(trx: Trx, loss: DataLoss): Promise<void> {
  await lockNames(trx, ['data-loss']);
  const same = await trx
    .selectFrom('data_losses')
    .selectAll()
    .where('accepted_at', 'is', null)
    .where('seq', '=', loss.seq)
    .executeTakeFirst();
  if (same === undefined) return void (await trx.insertInto('data_losses').values(loss).execute());
  const seenLater = loss.saved_seq > same.saved_seq ? loss : same;
  await trx
    .updateTable('data_losses')
    .set({
      position: Math.min(loss.position, same.position),
      audit_head: Math.min(loss.audit_head ?? 0, same.audit_head ?? 0),
      saved_position: Math.max(loss.saved_position, same.saved_position),
      saved_audit_head: Math.max(loss.saved_audit_head ?? 0, same.saved_audit_head ?? 0),
      ...{ saved_seq: seenLater.saved_seq, saved_received_at: seenLater.saved_received_at },
    })
    .where('found_at', '=', same.found_at)
    .execute();
}
