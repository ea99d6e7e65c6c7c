/** What the payroll system knows of a subject, because it was told or read it, so that it is told again only after a change. */
import type { Db, Trx } from '../database/tables.ts';
import { isTold, lockSubjects, notify } from './store.ts';
import { type DataOf, type NotificationType, subjectOf } from './types.ts';

/** Returns what is known by a type, as stored, by subject. */
export async function knownBy(db: Db, type: NotificationType): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('notification_known')
    .select(['subject', 'data'])
    .where('type', '=', type)
    .execute();
  return new Map(rows.map(({ subject, data }) => [subject, data]));
}

/** Stores a notification, unless the same was told of its subject last and not forgotten. Returns its id, or null. */
export async function notifyOnce<T extends NotificationType>(
  trx: Trx,
  type: T,
  data: DataOf<T>,
  now: string,
): Promise<string | null> {
  const subject = subjectOf(type, data);
  await lockSubjects(trx, [subject]);
  const text = JSON.stringify(data);
  if ((await readKnown(trx, type, subject)) === text) return null;
  const id = await notify(trx, type, data, now);
  if (id !== null) await setKnown(trx, type, subject, text);
  return id;
}

/** Stores what payroll has read of a subject, if the type is told. */
export async function noteRead(
  trx: Trx,
  type: NotificationType,
  subject: string,
  data: string,
): Promise<void> {
  if (await isTold(trx, type)) await setKnown(trx, type, subject, data);
}

async function setKnown(trx: Trx, type: string, subject: string, data: string): Promise<void> {
  await trx
    .insertInto('notification_known')
    .values({ type, subject, data })
    .onConflict((conflict) => conflict.columns(['subject', 'type']).doUpdateSet({ data }))
    .execute();
}

export async function readKnown(
  db: Db | Trx,
  type: NotificationType,
  subject: string,
): Promise<string | null> {
  const known = db.selectFrom('notification_known').select('data').where('subject', '=', subject);
  return (await known.where('type', '=', type).executeTakeFirst())?.data ?? null;
}

/** Forgets what is known of a subject, by one type or all, so that it is told again. Returns whether anything was. */
export async function forget(trx: Trx, subject: string, type?: NotificationType): Promise<boolean> {
  let known = trx.deleteFrom('notification_known').where('subject', '=', subject);
  if (type !== undefined) known = known.where('type', '=', type);
  return (await known.executeTakeFirst()).numDeletedRows > 0n;
}
