/** Events, newest first: find one, filter the list, and reprocess events. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { EVENT_TYPES } from '../../../contract/events.ts';
import { AppError } from '../../../errors.ts';
import { defined, found, need } from '../../api-client.ts';
import { empty, live, state } from '../../elements/facts.ts';
import {
  ANY,
  choicesOf,
  filterForm,
  hiddenFields,
  selectField,
  textField,
  timeField,
} from '../../elements/fields.ts';
import { count, counted, instant } from '../../elements/format.ts';
import { address, eventLink, fitsPath } from '../../elements/links.ts';
import { type Column, PAGE_ROWS, pager, table } from '../../elements/table.ts';
import { type Content, type Html, html } from '../../html.ts';
import { type Act, action, type ConsoleParts, type Done, page, type Visit } from '../../page.ts';

type Event = Schemas['EventSummary'];

/** Two lines; the event's page shows the whole reason. */
const REASON_CHARACTERS = 120;
/** Prefix of a row's checkbox, followed by the event's id. */
const SELECTED = 'selected:';
const STATES = ['pending', 'applied', 'ignored', 'quarantined'] as const;
type State = (typeof STATES)[number];
const FILTERS = ['state', 'event_type', 'from', 'until', 'dismissed', 'conflict'] as const;
/** The filters that the API accepts for reprocessing all matching events. */
const REPROCESSABLE = ['state', 'event_type', 'from', 'until'] as const;
type Filter = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

export function eventListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/events', scope: 'events:read' }, async (visit) => {
    const { query, may } = visit;
    const { id = '', cursor } = query;
    const filter = filterOf(query);
    const { data, next_cursor } = id === '' ? await listed(visit, filter) : await one(visit, id);
    const isReprocessable = data.length > 0 && id === '' && may('events:write') && acceptsAll(filter);
    return {
      title: 'Events',
      place: 'events',
      body: html`
        ${reprocessed(query)}
        ${filters(filter, id)}
        ${live(
          { id: 'events', path: address('/events', { ...filter, id, cursor }) },
          data.length === 0 ? nothing(filter, id, cursor) : list(data, filter, visit),
        )}
        ${id === '' && pager('/events', { ...filter, cursor }, next_cursor)}
        ${isReprocessable && reprocessForm(filter)}
      `,
    };
  });

  const scope = 'events:write';
  action(app, parts, { url: '/events/reprocess', scope }, reprocessSelected);
  action(app, parts, { url: '/events/reprocess-all', scope }, reprocessAll);
}

function filterOf(query: Visit['query']): Filter {
  return Object.fromEntries(
    FILTERS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  );
}

/** The API validates the values and names the wrong ones. */
function asQuery({ state, event_type, from, until, dismissed, conflict }: Filter) {
  return defined({
    ...{ event_type, from, until, state: state as State | undefined },
    dismissed: dismissed as unknown as boolean | undefined,
    conflict: conflict as unknown as boolean | undefined,
  });
}

/** Returns whether the API can reprocess all matching events. It needs a filter and skips dismissed events. */
function acceptsAll(filter: Filter): boolean {
  return (
    REPROCESSABLE.some((name) => filter[name] !== undefined) &&
    filter.state !== 'pending' &&
    filter.dismissed !== 'true' &&
    filter.conflict === undefined
  );
}

async function listed({ api, query: { cursor } }: Visit, filter: Filter) {
  const query = { limit: PAGE_ROWS, ...asQuery(filter), ...defined({ cursor }) };
  return need(await api.GET('/v1/events', { params: { query } }));
}

async function one({ api }: Visit, event_id: string): Promise<{ data: Event[]; next_cursor: null }> {
  const event = fitsPath(event_id)
    ? found(await api.GET('/v1/events/{event_id}', { params: { path: { event_id } } }))
    : null;
  return { data: event === null ? [] : [event], next_cursor: null };
}

function filters(filter: Filter, id: string): Html {
  const given = (name: (typeof FILTERS)[number]) => ({ name, value: filter[name] ?? '' });
  const states = STATES.map((value) => ({ value, label: value }));
  return html`
    <form class="fields" method="get" action="/events" role="search" aria-label="One event">
      ${textField({ name: 'id', label: 'Event ID', value: id, size: 36 })}
      <button type="submit" class="quiet">Find</button>
    </form>
    ${filterForm('/events', Object.keys(filter).length > 0 || id !== '', [
      selectField({ ...given('state'), label: 'State', choices: [ANY, ...states] }),
      typeField(filter.event_type ?? ''),
      timeField('from', 'Received from (UTC)', filter.from),
      timeField('until', 'Received before (UTC)', filter.until),
      selectField({
        ...given('dismissed'),
        label: 'Dismissed',
        choices: [ANY, ...choicesOf({ false: 'No', true: 'Yes' })],
      }),
      selectField({
        ...given('conflict'),
        label: 'Conflict',
        choices: [ANY, { value: 'true', label: 'Open conflict' }],
      }),
    ])}
  `;
}

/** Suggests the known types; the service may send others. */
function typeField(value: string): Html {
  return html`
    <div class="field">
      <label for="event_type">Type</label>
      <input id="event_type" name="event_type" list="event-types" size="28" value=${value} autocomplete="off" />
      <datalist id="event-types">${EVENT_TYPES.map((type) => html`<option value=${type}></option>`)}</datalist>
    </div>
  `;
}

function list(events: readonly Event[], filter: Filter, { may }: Visit): Html {
  if (!may('events:write')) return eventTable(events, []);
  return html`
    <form class="selection" hx-post="/events/reprocess">
      ${hiddenFields(filter)}
      ${eventTable(events, [
        {
          title: html`<span class="hidden-label">Selected</span>`,
          cell: ({ id }) =>
            html`<input type="checkbox" name=${SELECTED + id} value="yes" aria-label=${`Select ${id}`} />`,
        },
      ])}
      <p class="actions"><button type="submit" class="quiet">Reprocess selected</button></p>
    </form>
  `;
}

function eventTable(events: readonly Event[], before: readonly Column<Event>[]): Html {
  return table<Event>({
    caption: 'Events, newest first',
    stacked: true,
    captionHidden: true,
    columns: [
      ...before,
      { title: 'Event', kind: 'name', cell: ({ id }) => eventLink(id) },
      { title: 'Received', kind: 'date', cell: ({ received_at }) => instant(received_at) },
      { title: 'Type', cell: typeOf },
      {
        title: 'State',
        cell: (event) =>
          html`<span>${state(event.state)}${event.dismissed_at !== null && [' ', state('dismissed')]}</span>`,
      },
      {
        title: 'Reason',
        kind: 'wide',
        cell: ({ reason, dismissed_reason }) => shortened(dismissed_reason ?? reason),
      },
    ],
    rows: events,
    rowId: ({ id }) => `event-${encodeURIComponent(id)}`,
  });
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
function reprocessForm(filter: Filter): Html {
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
function inWords({ state, event_type, from, until }: Filter): string {
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

function nothing(filter: Filter, id: string, cursor: string | undefined): Html {
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
  for (const event_id of ids) {
    need(await api.POST('/v1/events/{event_id}/reprocess', { params: { path: { event_id } } }));
  }
  return { go: address('/events', { ...filterOf(form), reprocessed: String(ids.length) }) };
}

async function reprocessAll({ api, form }: Act): Promise<Done> {
  const filter = filterOf(form);
  const { dismissed: _, conflict: __, ...query } = asQuery(filter);
  // The API rejects the state pending by name.
  const body = query as typeof query & { state?: Exclude<State, 'pending'> };
  const done = need(await api.POST('/v1/events/reprocess', { body }));
  const counts = { reprocessed: String(done.reprocessed), without_body: String(done.without_body) };
  return { go: address('/events', { ...filter, ...counts }) };
}
