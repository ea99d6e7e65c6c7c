/** Lists notifications, and sends one again by hand. */
import { type RawBuilder, type Selectable, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { ago } from '../checks.ts';
import { component, integer, nullable, nullableText, text } from '../contract/fields.ts';
import { isOneOf } from '../database/bulk.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { conflict, notFound } from '../errors.ts';
import { type ListPage, type PageRequest, pagesBy } from '../formats/cursor.ts';
import { type Acting, record } from '../security/audit.ts';
import { hasNext, isTold, lockSubjects, notify } from './store.ts';
import { type DataOf, NOTIFICATIONS, type NotificationType, notificationOf, TEST } from './types.ts';

type Row = Selectable<Tables['notifications']>;

export const STATES = ['pending', 'delivered', 'failed'] as const;
type State = (typeof STATES)[number];

export const StoredNotification = component(
  'StoredNotification',
  {
    id: text('The ID of the notification: the header `webhook-id` of every attempt to send it.'),
    type: text('The type.'),
    state: Type.Enum([...STATES], {
      description: '`failed`: the receiver did not accept it in 72 hours, or too many waited.',
    }),
    created_at: text('When it was stored: the `timestamp` that the receiver gets.'),
    attempts: integer('The number of attempts to send it.'),
    next_attempt_at: nullableText(
      'When it is sent next. Null if it is finished, or waits for an earlier notification of its subject.',
    ),
    status: { ...nullable(Type.Integer()), description: 'The HTTP status of the last response.' },
    reason: nullableText('Why the last attempt, or the notification, failed.'),
    finished_at: nullableText('When it was delivered or failed.'),
    data: Type.Unsafe<Record<string, unknown>>({ type: 'object', description: 'The IDs that it has.' }),
    text: text('The sentence that it has.'),
  },
  'A notification of the payroll system.',
);
type NotificationView = Static<typeof StoredNotification>;

export function viewRow(row: Row): NotificationView {
  const { notification_id: id, type, state, created_at, attempts, status, reason, finished_at } = row;
  const data = JSON.parse(row.data) as Record<string, unknown>;
  const next_attempt_at = row.is_next === 1 ? row.due_at : null;
  // A newer release may have stored a type that this one does not know.
  const text = type in NOTIFICATIONS ? textOf(type as NotificationType, data) : type;
  return { id, type, state, created_at, attempts, next_attempt_at, status, reason, finished_at, data, text };
}

function textOf(type: NotificationType, data: Record<string, unknown>): string {
  return notificationOf(type, data as DataOf<typeof type>, '').text;
}

export type NotificationFilter = { state?: State | undefined; type?: string | undefined };

const notificationPage = pagesBy('notifications', { seq: Type.Integer({ minimum: 1 }) }, 'desc');

/** Returns a page of notifications, newest first. */
export async function listNotifications(
  db: Db,
  { state, type }: NotificationFilter,
  request: PageRequest,
): Promise<ListPage<NotificationView>> {
  let query = db.selectFrom('notifications').selectAll();
  if (state !== undefined) query = query.where('state', '=', state);
  if (type !== undefined) query = query.where('type', '=', type);
  const page = await notificationPage(query, request);
  return { ...page, data: page.data.map(viewRow) };
}

/**
 * Sends a failed notification again, after the one of its subject that is next, and a pending one at once. Throws NOT_FOUND, and
 * CONFLICT if it was delivered.
 */
export async function retryNotification(trx: Trx, id: string, acting: Acting): Promise<NotificationView> {
  const { subject } = await find(trx, id);
  await lockSubjects(trx, [subject]);
  const row = await find(trx, id);
  if (row.state === 'delivered')
    throw conflict('The notification was delivered: only a failed one is sent again.');
  const again = { state: 'pending', due_at: acting.now, finished_at: null } as const;
  const fresh = { attempts: 0, first_attempt_at: null, status: null, reason: null };
  const is_next = row.is_next === 1 || !(await hasNext(trx, subject)) ? 1 : 0;
  await trx
    .updateTable('notifications')
    .set(row.state === 'failed' ? { ...again, ...fresh, is_next } : { due_at: acting.now })
    .where('seq', '=', row.seq)
    .execute();
  await record(trx, acting, { action: 'notification.retry', resource: id, details: { type: row.type } });
  return viewRow(await find(trx, id));
}

/** Stores a notification that only tests the address. Throws CONFLICT if no address is configured. */
export async function testNotification(trx: Trx, acting: Acting): Promise<NotificationView> {
  if (!(await isTold(trx, TEST)))
    throw conflict('No address is configured. Set NOTIFY_URL and NOTIFY_SECRETS, and restart the sidecar.');
  const id = (await notify(trx, TEST, {}, acting.now)) as string;
  await record(trx, acting, { action: 'notification.test', resource: id });
  return viewRow(await find(trx, id));
}

async function find(trx: Trx, id: string): Promise<Row> {
  const query = trx.selectFrom('notifications').selectAll().where('notification_id', '=', id);
  const row = await query.executeTakeFirst();
  if (row === undefined) throw notFound('notification');
  return row;
}

/** Counts what waits and what failed, for metrics. */
export async function countNotifications(db: Db): Promise<{ pending: number; failed: number }> {
  const count = async (condition: RawBuilder<boolean>): Promise<number> => {
    const query = db
      .selectFrom('notifications')
      .select((of) => of.fn.countAll().as('count'))
      .where(condition);
    return Number((await query.executeTakeFirstOrThrow()).count);
  };
  return { pending: await count(sql`finished_at is null`), failed: await count(sql`state = 'failed'`) };
}

const KEPT_DAYS = 30;
/** Deleted in one transaction, so that it is short. */
const DELETED_AT_ONCE = 1_000;

/** Deletes finished notifications after 30 days. Calls `pause` between transactions. */
export async function dropNotifications(db: Db, now: Date, pause: () => Promise<void>): Promise<void> {
  const before = ago(now, KEPT_DAYS * 86_400_000);
  for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE; ) {
    const old = db.selectFrom('notifications').select('seq').where('finished_at', '<', before);
    const rows = await old.orderBy('finished_at').limit(DELETED_AT_ONCE).execute();
    const seqs = rows.map(({ seq }) => seq);
    await transact(db, (trx) =>
      trx
        .deleteFrom('notifications')
        .where(isOneOf(trx, 'seq', seqs))
        .execute(),
    );
    deleted = rows.length;
    await pause();
  }
}
