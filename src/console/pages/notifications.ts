/** The notifications of the payroll system. */
import type { RowOf } from '../../api/operation.ts';
import {
  listNotifications,
  NOTIFICATION_FILTERS,
  retryNotification,
  testNotification,
} from '../../api/operations/notifications.ts';
import { empty, savedNotice, state } from '../elements/facts.ts';
import { choicesOf } from '../elements/fields.ts';
import { capitalized, count, instant } from '../elements/format.ts';
import { address } from '../elements/links.ts';
import { type Filter, table, withNote } from '../elements/list.ts';
import { type Html, html } from '../html.ts';
import type { Console } from '../page.ts';
import { readList } from './employers.ts';

const PATH = '/notifications';
type Notification = RowOf<typeof listNotifications>;

const FILTERS: readonly Filter[] = [
  { name: 'state', label: 'State', choices: choicesOf(NOTIFICATION_FILTERS.state) },
  {
    name: 'type',
    label: 'Type',
    choices: NOTIFICATION_FILTERS.type.map((value) => ({ value, label: typeName(value) })),
  },
];

export function notificationPages({ page, button }: Console): void {
  page(
    PATH,
    'metrics:read',
    async (visit) => {
      const { done } = visit.query;
      const mayWrite = visit.may('events:write');
      const { data, form, pages } = await readList(visit, PATH, listNotifications, FILTERS);
      const body = html`
        ${savedNotice({ saved: done }, '/operations', 'Operations', 'The notification is queued. It is sent within seconds.')}
        <p>${'What this sidecar reports to the payroll system at '}<code>NOTIFY_URL</code>${'. A notification is kept for 30 days after it is finished.'}</p>
        ${mayWrite && html`<form hx-post=${`${PATH}/test`}><button type="submit" class="quiet">Send a test notification</button></form>`}
        ${form}
        ${data.length === 0 ? empty('No matching notifications', html`<p>Without <code>NOTIFY_URL</code>, none are stored.</p>`) : listOf(data, mayWrite)}
        ${pages}
      `;
      return { title: 'Notifications', body };
    },
    'refused',
  );

  button(`${PATH}/:notification_id/retry`, retryNotification, () => address(PATH, { done: 'retry' }));
  button(`${PATH}/test`, testNotification, () => address(PATH, { done: 'test' }));
}

/** `run.finalized` as `Run finalized`. */
function typeName(type: string): string {
  return capitalized(type.replace('.', ' '));
}

function listOf(rows: readonly Notification[], mayWrite: boolean): Html {
  return table(rows, { caption: 'Notifications', captionHidden: true }, [
    ['Created', ({ created_at }) => instant(created_at), 'date'],
    ['Notification', ({ type, text }) => withNote(typeName(type), text), 'wide'],
    ['State', (row) => withNote(state(row.state), row.reason)],
    ['Attempts', ({ attempts }) => count(attempts), 'number'],
    ['Next attempt', ({ next_attempt_at }) => next_attempt_at && instant(next_attempt_at), 'date'],
    ['Finished', ({ finished_at }) => finished_at && instant(finished_at), 'date'],
    ...(mayWrite ? [['Action', retryOf] as const] : []),
  ]);
}

function retryOf({ id, state, created_at, type }: Notification): Html | null {
  if (state === 'delivered') return null;
  return html`
    <form hx-post=${`${PATH}/${id}/retry`}>
      <button type="submit" class="quiet">Send again<span class="hidden-label">: ${typeName(type)}, ${created_at}</span></button>
    </form>
  `;
}
