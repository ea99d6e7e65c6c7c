/** Stores notifications in the transaction of what they are about, so that nothing is told that did not commit. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { lockNames } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { NotifyConfig } from '../notify-config.ts';
import { type DataOf, NOTIFICATIONS, type NotificationType, subjectOf, TEST } from './types.ts';

/** Stores which types are told from now on; null: none. A command on this database follows it too. */
export async function adoptTypes(db: Db, config: NotifyConfig | null): Promise<void> {
  const types = config === null ? null : (config.types ?? Object.keys(NOTIFICATIONS)).join(' ');
  if ((await storedTypes(db)) === types) return;
  await transact(db, (trx) => trx.updateTable('notification_head').set({ types }).execute());
}

async function storedTypes(db: Db | Trx): Promise<string | null> {
  const head = await db.selectFrom('notification_head').select('types').executeTakeFirst();
  return head?.types ?? null;
}

/** Reports whether notifications of a type are stored. The test is, if any are. */
export async function isTold(db: Db | Trx, type: NotificationType): Promise<boolean> {
  const types = await storedTypes(db);
  return types !== null && (type === TEST || types.split(' ').includes(type));
}

/** Stores a notification, unless the configuration has no address or does not name the type. Returns its id, or null. */
export async function notify<T extends NotificationType>(
  trx: Trx,
  type: T,
  data: DataOf<T>,
  now: string,
): Promise<string | null> {
  if (!(await isTold(trx, type))) return null;
  const subject = subjectOf(type, data);
  await lockSubjects(trx, [subject]);
  const notification_id = randomUUID();
  const is_next = (await hasNext(trx, subject)) ? 0 : 1;
  await trx
    .insertInto('notifications')
    .values({
      ...{ notification_id, type, subject, data: JSON.stringify(data) },
      ...{ state: 'pending', is_next, created_at: now, due_at: now },
    })
    .execute();
  return notification_id;
}

/** Held by whoever adds or finishes notifications of a subject, so that exactly one of them is next. */
export function lockSubjects(trx: Trx, subjects: readonly string[]): Promise<void> {
  return lockNames(
    trx,
    [...new Set(subjects)].sort().map((subject) => `notification ${subject}`),
  );
}

export async function hasNext(trx: Trx, subject: string): Promise<boolean> {
  const next = await trx
    .selectFrom('notifications')
    .select('seq')
    .where('subject', '=', subject)
    .where(sql<boolean>`is_next = 1`)
    .executeTakeFirst();
  return next !== undefined;
}

/**
 * Stores the newest position of the ledger unless it was told. One that waits is replaced, with an id of its own, because an
 * attempt to send the old one may have arrived. Only the sidecar that sends calls it, between batches.
 */
export async function tellPosition(db: Db, position: number, now: string): Promise<void> {
  const newest = await db
    .selectFrom('notifications')
    .select(['seq', 'state', 'data'])
    .where('subject', '=', 'ledger')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const data = JSON.stringify({ position } satisfies DataOf<'ledger.changed'>);
  if (newest?.data === data || (newest === undefined && position === 0)) return;
  if (!(await isTold(db, 'ledger.changed'))) return;
  await transact(db, async (trx) => {
    if (newest?.state !== 'pending') {
      // One a second would be millions in 30 days.
      const told = trx.deleteFrom('notifications').where('subject', '=', 'ledger');
      await told.where('state', '=', 'delivered').execute();
      return notify(trx, 'ledger.changed', { position }, now);
    }
    const replaced = { notification_id: randomUUID(), data, created_at: now, first_attempt_at: null };
    const waiting = trx.updateTable('notifications').set(replaced).where('seq', '=', newest.seq);
    return waiting.where('finished_at', 'is', null).execute();
  });
}
