/** Events, the newest first: find one, filter them, have some applied again. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { command, empty } from '../../elements/empty.ts';
import { count } from '../../elements/facts.ts';
import { hiddenFields } from '../../elements/field.ts';
import { canStandInPath, eventLink } from '../../elements/links.ts';
import { live } from '../../elements/live.ts';
import { address, PAGE_ROWS, pager } from '../../elements/pager.ts';
import { state } from '../../elements/state.ts';
import { type Column, table } from '../../elements/table.ts';
import { instant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import { found, need } from '../../own-api.ts';
import { page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { asQuery, type Filter, filterForm, filterOf, inWords, isReprocessable } from './filter.ts';
import { SELECTED } from './work.ts';

type Event = Schemas['Event'];

/** Some name each field that breaks the contract: more than two lines of it hide the other events. */
const REASON_CHARACTERS = 120;

export function eventListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/events', scope: 'events:read' }, async (visit) => {
    const { query } = visit;
    const { id = '', cursor } = query;
    const filter = filterOf(query);
    const { data, next_cursor } = id === '' ? await listed(visit, filter) : await one(visit, id);
    return {
      title: 'Events',
      place: 'events',
      body: html`
        <div>
          ${done(query)}
          ${filterForm(filter, id)}
          ${live(
            { id: 'events', path: address('/events', { ...filter, id, cursor }) },
            data.length === 0 ? nothing(filter, id, cursor) : list(data, filter, visit),
          )}
          ${id === '' && pager('/events', { ...filter, cursor }, next_cursor)}
          ${data.length > 0 && id === '' && visit.may('events:write') && isReprocessable(filter) && reprocessAll(filter)}
        </div>
      `,
    };
  });
}

async function listed({ api, query: { cursor } }: Visit, filter: Filter) {
  const query = { limit: PAGE_ROWS, ...asQuery(filter), ...(cursor !== undefined && { cursor }) };
  return need(await api.GET('/v1/events', { params: { query } }));
}

async function one({ api }: Visit, event_id: string): Promise<{ data: Event[]; next_cursor: null }> {
  const event = canStandInPath(event_id)
    ? found(await api.GET('/v1/events/{event_id}', { params: { path: { event_id } } }))
    : null;
  return { data: event === null ? [] : [event], next_cursor: null };
}

function list(events: readonly Event[], filter: Filter, { may }: Visit): Html {
  if (!may('events:write')) return eventTable(events, []);
  return html`
    <form class="selection" hx-post="/events/reprocess">
      ${hiddenFields(filter)}
      ${eventTable(events, [
        {
          title: html`<span class="hidden-label">Selected</span>`,
          cell: ({ event_id }) =>
            html`<input type="checkbox" name=${SELECTED + event_id} value="yes" aria-label=${`Select ${event_id}`} />`,
        },
      ])}
      <p class="actions"><button type="submit" class="quiet">Reprocess the selected</button></p>
    </form>
  `;
}

function eventTable(events: readonly Event[], before: readonly Column<Event>[]): Html {
  return table<Event>({
    caption: 'Events, the newest first',
    stacked: true,
    captionHidden: true,
    columns: [
      ...before,
      { title: 'Event', kind: 'name', cell: ({ event_id }) => eventLink(event_id) },
      { title: 'Received', kind: 'date', cell: ({ received_at }) => instant(received_at) },
      { title: 'Type', cell: typeOf },
      {
        title: 'State',
        cell: (event) =>
          html`<span>${state(event.state)}${event.dismissed_at !== null && [' ', state('dismissed')]}</span>`,
      },
      {
        title: 'Why',
        kind: 'wide',
        cell: ({ reason, dismissed_reason }) => shortened(dismissed_reason ?? reason),
      },
    ],
    rows: events,
    rowId: ({ event_id }) => `event-${encodeURIComponent(event_id)}`,
  });
}

/** The event's own page has all of it. */
function shortened(reason: string | null): Content {
  if (reason === null || reason.length <= REASON_CHARACTERS) return reason;
  return html`<span title=${reason}>${`${reason.slice(0, REASON_CHARACTERS).trimEnd()}…`}</span>`;
}

function typeOf({ event_type, source, state }: Event): Content {
  if (source === 'import') return html`<span>${event_type} <span class="soft">(imported)</span></span>`;
  return event_type ?? html`<span class="soft">${state === 'pending' ? 'not read yet' : 'unknown'}</span>`;
}

/** Outside the list, so that it does not change under the hand that goes for it. */
function reprocessAll(filter: Filter): Html {
  const which = inWords(filter);
  return html`
    <form
      class="card"
      hx-post="/events/reprocess-all"
      hx-confirm=${`Apply again all events that ${which}?\n\nWhat they did already is not done twice. Dismissed ones are left alone.`}
    >
      ${hiddenFields(filter)}
      <p>${`Reprocess all events that ${which}, on this page and the next ones: after an upgrade, or when what was wrong is mended.`}</p>
      <button type="submit" class="quiet">Reprocess all of them</button>
    </form>
  `;
}

/** What a button did, told where it leads. */
function done({ put_back, without_body = '0' }: Visit['query']): Html | null {
  if (put_back === undefined || !/^\d{1,9}$/.test(put_back) || !/^\d{1,9}$/.test(without_body)) return null;
  const [events, left] = [Number(put_back), Number(without_body)];
  return html`
    <p class="notice" role="status">
      ${events === 1 ? '1 event is applied again.' : `${count(events)} events are applied again.`}
      ${left > 0 && ` ${count(left)} more would be, had retention not dropped their bodies.`}
    </p>
  `;
}

function nothing(filter: Filter, id: string, cursor: string | undefined): Html {
  if (id !== '') {
    return empty(
      'No event has this id.',
      html`<p>The id is looked up whole, as the provider’s portal shows it. If the portal says that it was delivered, see there which address it was sent to, and have it sent again.</p>`,
    );
  }
  if (Object.keys(filter).length > 0 || cursor !== undefined) return empty('No event is like that.');
  return empty(
    'No event has come in yet.',
    html`
      <div>
        <p>Register the endpoint in the provider’s portal and have a test event sent. To see events without a provider, where the sidecar runs:</p>
        ${command('benefits-sidecar replay fixtures/events')}
      </div>
    `,
  );
}
