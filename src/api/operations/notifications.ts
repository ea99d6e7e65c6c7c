/** What is told to the payroll system: the list, and two ways to send. */
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { NOTIFICATION_TYPES } from '../../notifications/types.ts';
import * as notifications from '../../notifications/view.ts';
import { actingIn } from '../auth.ts';
import { operation } from '../operation.ts';
import { cursor, limit, ownId, pageOf } from '../schemas.ts';

/** The values of the filters, for the console. */
export const NOTIFICATION_FILTERS = { state: notifications.STATES, type: NOTIFICATION_TYPES } as const;

export const listNotifications = operation({
  id: 'listNotifications',
  method: 'GET',
  path: '/v1/notifications',
  scope: 'metrics:read',
  employers: 'refused',
  summary: 'List notifications',
  description: 'Notifications of the last 30 days, newest first. Without `NOTIFY_URL`, none are stored.',
  query: field.closed({
    state: Type.Optional(
      field.oneOfDescribed(NOTIFICATION_FILTERS.state, 'Only notifications in this state.'),
    ),
    type: Type.Optional(field.oneOfDescribed(NOTIFICATION_FILTERS.type, 'Only notifications of this type.')),
    cursor,
    limit,
  }),
  response: { 200: pageOf(notifications.StoredNotification) },
  run: ({ query }, { db }) => notifications.listNotifications(db, query, query),
});

export const retryNotification = operation({
  id: 'retryNotification',
  method: 'POST',
  path: '/v1/notifications/:notification_id/retry',
  scope: 'events:write',
  employers: 'refused',
  action: 'notification.retry',
  summary: 'Send a notification again',
  description:
    'A failed notification is sent again for up to 72 hours, and a pending one at once. A delivered one is a 409.',
  params: field.closed({ notification_id: { ...ownId, description: 'The ID of the notification.' } }),
  response: { 202: notifications.StoredNotification },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(call, { db, sharedNow }) {
    return transact(db, async (trx) =>
      notifications.retryNotification(trx, call.params.notification_id, actingIn(call, await sharedNow(trx))),
    );
  },
  logs: ({ params }) => [params, 'a notification was queued again'],
});

export const testNotification = operation({
  id: 'testNotification',
  method: 'POST',
  path: '/v1/notifications/test',
  scope: 'events:write',
  employers: 'refused',
  action: 'notification.test',
  summary: 'Send a test notification',
  description:
    'Stores a notification of the type `notification.test`, which a running sidecar sends. The list shows whether it was delivered. Without `NOTIFY_URL` it is a 409.',
  response: { 202: notifications.StoredNotification },
  refuses: ['CONFLICT'],
  async run(call, { db, sharedNow }) {
    return transact(db, async (trx) =>
      notifications.testNotification(trx, actingIn(call, await sharedNow(trx))),
    );
  },
  logs: (_call, { id }) => [{ notification_id: id }, 'a test notification was queued'],
});
