/** Events, newest first: find one, filter the list, and reprocess events. */
import type { Schemas } from '../../../client.ts';
import { EVENT_TYPES } from '../../../contract/events.ts';
import { AppError } from '../../../errors.ts';
import { found } from '../../api-client.ts';
import { empty, live, state } from '../../elements/facts.ts';
import { choicesOf, type Filter, field, filterForm, filtersIn, hiddenFields } from '../../elements/fields.ts';
import { count, counted, instant } from '../../elements/format.ts';
import { address, eventLink, fitsPath, type Query } from '../../elements/links.ts';
import { type Column, PAGE_ROWS, pager, table } from '../../elements/table.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Act, Console, Done, Visit } from '../../page.ts';

type Event = Schemas['EventSummary'];

/** Two lines; the event's page shows the whole reason. */
const REASON_CHARACTERS = 120;
/** Prefix of a row's checkbox, followed by the event's id. */
const SELECTED = 'selected:';
const STATES = ['pending', 'applied', 'ignored', 'quarantined'] as const;
/** The filters that the API accepts for reprocessing all matching events. The service may send other types. */
const REPROCESSABLE: readonly Filter[] = [
  { name: 'state', label: 'State', choices: choicesOf(STATES) },
  { name: 'event_type', label: 'Type', size: 28, suggestions: EVENT_TYPES },
  { name: 'from', label: 'Received from (UTC)', type: 'datetime-local' },
  { name: 'until', label: 'Received before (UTC)', type: 'datetime-local' },
];
const FILTERS: readonly Filter[] = [
  ...REPROCESSABLE,
  { name: 'dismissed', label: 'Dismissed', choices: choicesOf({ false: 'No', true: 'Yes' }) },
  { name: 'conflict', label: 'Conflict', choices: choicesOf({ true: 'Open conflict' }) },
];

export function eventListPages({ page, action }: Console): void {
  page('/events', 'events:read', async (visit) => {
    const { api, query, may } = visit;
    const { id = '', cursor } = query;
    const filter = filtersIn(query, FILTERS);
    const list = { limit: PAGE_ROWS, cursor, ...filter };
    const { data, next_cursor } = id === '' ? await api.get('/v1/events', list) : await one(visit, id);
    const isReprocessable = data.length > 0 && id === '' && may('events:write') && acceptsAll(filter);
    return {
      title: 'Events',
      body: html`
        ${reprocessed(query)}
        <form class="fields" method="get" action="/events" role="search" aria-label="One event">
          ${field({ name: 'id', label: 'Event ID', value: id, size: 36 })}
          <button type="submit" class="quiet">Find</button>
        </form>
        ${filterForm('/events', query, FILTERS)}
        ${live(
          { id: 'events', path: address('/events', { ...filter, id, cursor }) },
          data.length === 0 ? nothing(filter, id, cursor) : eventsOf(data, filter, visit),
        )}
        ${id === '' && pager('/events', { ...filter, cursor }, next_cursor)}
        ${isReprocessable && reprocessForm(filter)}
      `,
    };
  });

  action('/events/reprocess', 'events:write', reprocessSelected);
  action('/events/reprocess-all', 'events:write', reprocessAll);
}

/** Returns whether the API can reprocess all matching events. It needs a filter and skips dismissed events. */
function acceptsAll(filter: Query): boolean {
  return (
    REPROCESSABLE.some(({ name }) => filter[name] !== undefined) &&
    filter.state !== 'pending' &&
    filter.dismissed !== 'true' &&
    filter.conflict === undefined
  );
}

async function one({ api }: Visit, event_id: string): Promise<{ data: Event[]; next_cursor: null }> {
  const event = fitsPath(event_id) ? await found(api.get('/v1/events/{event_id}', { event_id })) : null;
  return { data: event === null ? [] : [event], next_cursor: null };
}

function eventsOf(events: readonly Event[], filter: Query, { may }: Visit): Html {
  if (!may('events:write')) return eventTable(events, []);
  const selected: Column<Event> = [
    html`<span class="hidden-label">Selected</span>`,
    ({ id }) =>
      html`<input type="checkbox" name=${SELECTED + id} value="yes" aria-label=${`Select ${id}`} />`,
  ];
  return html`
    <form class="selection" hx-post="/events/reprocess">
      ${hiddenFields(filter)}
      ${eventTable(events, [selected])}
      <p class="actions"><button type="submit" class="quiet">Reprocess selected</button></p>
    </form>
  `;
}

function eventTable(events: readonly Event[], before: readonly Column<Event>[]): Html {
  const rowId = ({ id }: Event) => `event-${encodeURIComponent(id)}`;
  return table(events, { caption: 'Events, newest first', stacked: true, captionHidden: true, rowId }, [
    ...before,
    ['Event', ({ id }) => eventLink(id), 'name'],
    ['Received', ({ received_at }) => instant(received_at), 'date'],
    ['Type', typeOf],
    ['State', stateOf],
    ['Reason', ({ reason, dismissed_reason }) => shortened(dismissed_reason ?? reason), 'wide'],
  ]);
}

function stateOf(event: Event): Html {
  return html`<span>${state(event.state)}${event.dismissed_at !== null && [' ', state('dismissed')]}</span>`;
}

function shortened(reason: string | null): Content {
  if (reason === null || reason.length <= REASON_CHARACTERS) return reason;
  return html`<span title=${reason}>${`${reason.slice(0, REASON_CHARACTERS).trimEnd()}…`}</span>`;
}

function typeOf({ event_type, source, state }: Event): Content {
  if (source === 'import') return html`<span>${event_type} <span class="soft">(imported)</span></span>`;
  return (
    event_type ?? html`<span class="soft">${state === 'pending' ? 'not processed yet' : 'unknown'}</span>`
  );
}

/** Outside the live list, so that a refresh cannot move the button. */
function reprocessForm(filter: Query): Html {
  const which = inWords(filter);
  return html`
    <form
      class="card"
      hx-post="/events/reprocess-all"
      hx-confirm=${`Reprocess all events ${which}?\n\nNothing takes effect twice. Dismissed events are skipped.`}
    >
      ${hiddenFields(filter)}
      <p>${`Reprocess all events ${which}, on every page. Use this after an upgrade, or when the cause is fixed.`}</p>
      <button type="submit" class="quiet">Reprocess all</button>
    </form>
  `;
}

/** `in state quarantined, received before 2026-02-01 09:30 UTC`. */
function inWords({ state, event_type, from, until }: Query): string {
  return [
    ...(state === undefined ? [] : [`in state ${state}`]),
    ...(event_type === undefined ? [] : [`of type ${event_type}`]),
    ...(from === undefined ? [] : [`received at ${written(from)} or later`]),
    ...(until === undefined ? [] : [`received before ${written(until)}`]),
  ].join(', ');
}

function written(time: string): string {
  const text = time.replace('T', ' ');
  return /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text} UTC`;
}

function reprocessed({ reprocessed: done, without_body = '0' }: Visit['query']): Html | null {
  if (done === undefined || !/^\d{1,9}$/.test(done) || !/^\d{1,9}$/.test(without_body)) return null;
  const skipped = Number(without_body);
  return html`
    <p class="notice" role="status">
      ${`Reprocessing ${counted(Number(done), 'event')}.`}
      ${skipped > 0 && ` ${count(skipped)} more were skipped, because retention has deleted their bodies.`}
    </p>
  `;
}

function nothing(filter: Query, id: string, cursor: string | undefined): Html {
  if (id !== '') {
    return empty(
      'No event has this ID',
      html`<p>Enter the whole ID, as shown in the provider’s portal. If the portal shows the event as delivered, check the endpoint address there and send it again.</p>`,
    );
  }
  if (Object.keys(filter).length > 0 || cursor !== undefined) return empty('No matching events');
  return empty(
    'No events yet',
    html`<p>Register the webhook endpoint in the provider’s portal and send a test event.</p>`,
  );
}

async function reprocessSelected({ api, form }: Act): Promise<Done> {
  const ids = Object.keys(form).flatMap((name) =>
    name.startsWith(SELECTED) ? [name.slice(SELECTED.length)] : [],
  );
  if (ids.length === 0) throw new AppError('INVALID_REQUEST', 'Select at least one event.');
  if (ids.length > PAGE_ROWS) throw new AppError('TOO_LARGE', `Select at most ${PAGE_ROWS} events.`);
  for (const event_id of ids) await api.send('post', '/v1/events/{event_id}/reprocess', { event_id });
  return { go: address('/events', { ...filtersIn(form, FILTERS), reprocessed: ids.length }) };
}

async function reprocessAll({ api, form }: Act): Promise<Done> {
  const done = await api.send('post', '/v1/events/reprocess', {}, filtersIn(form, REPROCESSABLE));
  const { reprocessed, without_body } = done;
  return { go: address('/events', { ...filtersIn(form, FILTERS), reprocessed, without_body }) };
}
