/**
 * Sends notifications. One address receives all of them, so one batch after another is enough: the first notification of
 * each subject that is due. The circuit breaker of the outbox and a pilot do not apply.
 */
import { sql } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import type { SharedNow } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import { createLoopNotifier } from '../database/notifier.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codeOf } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { Attempted, Receiver } from './attempt.ts';
import { CLOCK_SPREAD_MS, type NotificationLease } from './lease.ts';
import { backoffMs, pauseMs, RETRIED_FOR_MS, RETRY_MAX_MS } from './retry.ts';
import { lockSubjects } from './store.ts';
import type { SentBody } from './types.ts';
import { viewRow } from './view.ts';

/** Due times pass, and other processes store without waking this loop. */
const POLL_MS = 1_000;
/** Sent at once. A burst of a thousand takes seconds, and the receiver is one program. */
const BATCH = 8;
/** More than a receiver wants to read after an outage. */
export const PENDING_MAX = 100_000;
/** Finished in one transaction, so that it is short. */
const FAILED_AT_ONCE = 500;

export type NotificationEnd = 'delivered' | 'retried' | 'failed' | 'dropped';

export type NotificationLoopParts = {
  db: Db;
  receiver: Receiver;
  lease: NotificationLease;
  sharedNow: SharedNow;
  /** Numbers in [0, 1). */
  random: () => number;
  log: Log;
  /** Called for each attempt, and for each notification that failed because too many waited. */
  onEnded: (how: NotificationEnd) => void;
  /** Stores what changed since the last batch, on the sidecar that sends. Short, because deliveries wait for it. */
  compare?: (now: Date) => Promise<void>;
  pendingMax?: number;
};

type Due = { seq: number; notification_id: string; subject: string; attempts: number; body: string };

export function createNotificationLoop(parts: NotificationLoopParts) {
  const { db, receiver, lease, sharedNow, log, onEnded, compare } = parts;
  const notifier = createLoopNotifier();
  let failedBatches = 0;

  /** Sends one batch. Returns the wait until the next. */
  async function runOnce(signal: AbortSignal): Promise<number> {
    const now = await sharedNow(db);
    if (!(await lease.holds(now))) return POLL_MS;
    await compare?.(now);
    const dropped = await dropOldest(db, parts.pendingMax ?? PENDING_MAX, now);
    for (let count = 0; count < dropped; count += 1) onEnded('dropped');
    if (dropped > 0) log.warn({ count: dropped }, 'too many notifications waited: the oldest failed');
    const due = await dueNow(db, failedBatches > 0 ? 1 : BATCH, now);
    if (due.length === 0) return POLL_MS;
    const attempted = await Promise.all(
      due.map(async ({ notification_id, body }) =>
        receiver.post(notification_id, body, await sharedNow(db), signal),
      ),
    );
    if (signal.aborted) return 0;
    const ended = await transact(db, async (trx) => recordAttempts(trx, due, attempted, parts));
    for (const [index, how] of ended.entries()) report(due[index] as Due, attempted[index] as Attempted, how);
    failedBatches = attempted.some(({ delivered }) => delivered) ? 0 : failedBatches + 1;
    return failedBatches === 0 ? 0 : pauseMs(failedBatches);
  }

  function report(due: Due, { status, reason }: Attempted, how: NotificationEnd): void {
    onEnded(how);
    const fields = { notification_id: due.notification_id, state: how, ...(status !== null && { status }) };
    if (how === 'delivered') log.debug(fields, 'a notification was delivered');
    else log.warn({ ...fields, reason: reason ?? '' }, 'a notification was not delivered');
  }

  return {
    runOnce,
    /** Sends until the signal aborts, which ends attempts in flight. Rejects when the database must not be used any more. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        let wait = POLL_MS;
        try {
          wait = await runOnce(signal);
        } catch (error) {
          if (isFatal(error)) throw error;
          log.error({ code: codeOf(error) || 'INTERNAL' }, 'notifications could not be sent: trying again');
        }
        if (wait > 0) await notifier.wait(wait, signal);
      }
      await lease.resign().catch(() => {});
    },
    /** Looks for due notifications now, unless the receiver is down. */
    wake(): void {
      if (failedBatches === 0) notifier.notify();
    },
  };
}

/** Returns the next notifications of subjects, as they are sent. A due time beyond the longest wait comes from a clock that jumped. */
async function dueNow(db: Db, limit: number, now: Date): Promise<Due[]> {
  const beyond = new Date(now.getTime() + RETRY_MAX_MS + CLOCK_SPREAD_MS).toISOString();
  const rows = await db
    .selectFrom('notifications')
    .selectAll()
    .where(sql<boolean>`is_next = 1`)
    .where((where) => where.or([where('due_at', '<=', now.toISOString()), where('due_at', '>', beyond)]))
    .orderBy('due_at')
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map((row) => {
    const { type, created_at: timestamp, data, text } = viewRow(row);
    const { seq, notification_id, subject, attempts } = row;
    const body = JSON.stringify({ type, timestamp, data, text } satisfies SentBody);
    return { seq, notification_id, subject, attempts, body };
  });
}

/** Records attempts, unless another sidecar did or a person retried the notification meanwhile. */
async function recordAttempts(
  trx: Trx,
  due: readonly Due[],
  attempted: readonly Attempted[],
  { sharedNow, random }: NotificationLoopParts,
): Promise<NotificationEnd[]> {
  await lockSubjects(
    trx,
    due.map(({ subject }) => subject),
  );
  const at = await sharedNow(trx);
  const now = at.toISOString();
  const ended: NotificationEnd[] = [];
  for (const [index, { seq, notification_id, subject, attempts: before }] of due.entries()) {
    const { delivered, status, reason } = attempted[index] as Attempted;
    const mine = trx
      .selectFrom('notifications')
      .select(['first_attempt_at'])
      .where('seq', '=', seq)
      .where('notification_id', '=', notification_id)
      .where('attempts', '=', before)
      .where('finished_at', 'is', null);
    const row = await mine.executeTakeFirst();
    const first_attempt_at = row?.first_attempt_at ?? now;
    const isLast = at.getTime() - Date.parse(first_attempt_at) >= RETRIED_FOR_MS;
    const how = delivered ? 'delivered' : isLast ? 'failed' : 'retried';
    ended.push(how);
    if (row === undefined) continue;
    const attempts = before + 1;
    const result = { attempts, first_attempt_at, status, reason };
    if (how === 'retried') {
      const due_at = new Date(at.getTime() + backoffMs(attempts, random)).toISOString();
      await trx
        .updateTable('notifications')
        .set({ ...result, due_at })
        .where('seq', '=', seq)
        .execute();
      continue;
    }
    const finished = { ...result, state: how, is_next: 0, finished_at: now } as const;
    await trx.updateTable('notifications').set(finished).where('seq', '=', seq).execute();
    await promote(trx, subject);
  }
  return ended;
}

/** Makes the oldest pending notification of a subject, whose last one finished, the next. */
async function promote(trx: Trx, subject: string): Promise<void> {
  const oldest = trx
    .selectFrom('notifications')
    .select((of) => of.fn.min('seq').as('seq'))
    .where('subject', '=', subject)
    .where('finished_at', 'is', null);
  await trx.updateTable('notifications').set({ is_next: 1 }).where('seq', '=', oldest).execute();
}

/** Fails the oldest notifications beyond the most that may wait, and returns how many. */
async function dropOldest(db: Db, most: number, now: Date): Promise<number> {
  const waiting = db.selectFrom('notifications').where('finished_at', 'is', null);
  // SQLite reads every row for a minimum and a maximum in one statement.
  const first = await waiting.select('seq').orderBy('seq').limit(1).executeTakeFirst();
  const last = await waiting.select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst();
  // Counting is slow, and seldom needed.
  if (first === undefined || last === undefined || last.seq - first.seq < most) return 0;
  const { count } = await waiting.select((of) => of.fn.countAll().as('count')).executeTakeFirstOrThrow();
  const excess = Number(count) - most;
  let dropped = 0;
  while (dropped < excess) {
    const step = Math.min(FAILED_AT_ONCE, excess - dropped);
    dropped += await transact(db, async (trx) => {
      const oldest = trx
        .selectFrom('notifications')
        .select(['seq', 'subject'])
        .where('finished_at', 'is', null);
      const rows = await oldest.orderBy('seq').limit(step).execute();
      const subjects = [...new Set(rows.map(({ subject }) => subject))];
      await lockSubjects(trx, subjects);
      const reason = `more than ${most} notifications waited`;
      const failed = { state: 'failed', is_next: 0, finished_at: now.toISOString() } as const;
      const seqs = rows.map(({ seq }) => seq);
      await trx
        .updateTable('notifications')
        .set({ ...failed, reason })
        .where(isOneOf(trx, 'seq', seqs))
        .execute();
      for (const subject of subjects) await promote(trx, subject);
      return rows.length;
    });
  }
  return dropped;
}
