/** Events: the list, newest first; one event with its result and its body next to conflicting bodies; and reprocessing. */
import { Refusal } from '../../api/problem.ts';
import type { Schemas } from '../../client.ts';
import { CENSUS_SYNC_COMPLETE, EVENT_TYPES } from '../../contract/events.ts';
import { dataOrNull } from '../api-client.ts';
import { empty, facts, live, state } from '../elements/facts.ts';
import { choicesOf, decision, field, hiddenFields } from '../elements/fields.ts';
import { count, counted, instant } from '../elements/format.ts';
import { historyOf } from '../elements/history.ts';
import { address, deductionLink, eventLink, fitsPath, idLink, pathOf } from '../elements/links.ts';
import { type Column, filterForm, filtersIn, PAGE_ROWS, pager, table } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { differenceOf, LINES_MAX, linesOf, MASK } from './body-lines.ts';

type Event = Schemas['Event'];
type Conflict = Schemas['EventConflict'];
type Conflicts = Event['conflicts'];
type Summary = Schemas['EventSummary'];
type Texts = Visit['query'];

/** Two lines; the event's page shows the whole reason. */
const REASON_CHARACTERS = 120;
/** Prefix of a row's checkbox, followed by the event's id. */
const SELECTED = 'selected:';
const STATES = ['pending', 'applied', 'ignored', 'quarantined'];
/** The filters that the API accepts for reprocessing all matching events. The service may send other types. */
const REPROCESSABLE = [
  { name: 'state', label: 'State', choices: choicesOf(STATES) },
  { name: 'event_type', label: 'Type', size: 28, suggestions: EVENT_TYPES },
  { name: 'from', label: 'Received from', type: 'datetime-local' },
  { name: 'until', label: 'Received before', type: 'datetime-local' },
] as const;
const FILTERS = [
  ...REPROCESSABLE,
  { name: 'dismissed', label: 'Dismissed', choices: choicesOf({ false: 'No', true: 'Yes' }) },
  { name: 'conflict', label: 'Conflict', choices: choicesOf({ true: 'Open conflict' }) },
] as const;

export function eventPages({ page, action }: Console): void {
  page('/events', 'events:read', async (visit) => {
    const { api, query, may } = visit;
    const { id = '', cursor } = query;
    const filter = filtersIn(query, FILTERS);
    const list = { limit: PAGE_ROWS, cursor, ...filter };
    const { data, next_cursor } = id === '' ? await api.get('/v1/events', list) : await one(visit, id);
    const isReprocessable = data.length > 0 && id === '' && may('events:write') && acceptsAll(filter);
    const shown = data.length === 0 ? nothing(filter, id, cursor) : eventTable(data, filter, may);
    const body = html`
      ${reprocessed(query)}
      <form class="fields" method="get" action="/events" role="search" aria-label="One event">
        ${field({ name: 'id', label: 'Event ID', value: id, size: 36 })}
        <button type="submit" class="quiet">Find</button>
      </form>
      ${filterForm('/events', query, FILTERS)}
      ${live({ id: 'events', path: address('/events', { ...filter, id, cursor }) }, shown)}
      ${id === '' && pager('/events', { ...filter, cursor }, next_cursor)}
      ${isReprocessable && reprocessForm(filter)}
    `;
    return { title: 'Events', body };
  });

  action('/events/reprocess', 'events:write', async ({ api, form }) => {
    const selected = Object.keys(form).filter((name) => name.startsWith(SELECTED));
    const ids = selected.map((name) => name.slice(SELECTED.length));
    if (ids.length === 0) throw new Refusal('INVALID_REQUEST', 'Select at least one event.');
    if (ids.length > PAGE_ROWS) throw new Refusal('TOO_LARGE', `Select at most ${PAGE_ROWS} events.`);
    for (const event_id of ids) await api.send('post', '/v1/events/{event_id}/reprocess', { event_id });
    return { go: address('/events', { ...filtersIn(form, FILTERS), reprocessed: ids.length }) };
  });

  action('/events/reprocess-all', 'events:write', async ({ api, form }) => {
    const done = await api.send('post', '/v1/events/reprocess', {}, filtersIn(form, REPROCESSABLE));
    return { go: address('/events', { ...filtersIn(form, FILTERS), ...done }) };
  });

  page('/events/:event_id', 'events:read', async (visit) => {
    const { api, params, query, may } = visit;
    const { event_id = '' } = params;
    const { cursor } = query;
    const event = await api.get('/v1/events/{event_id}');
    const conflicts = await api.get('/v1/events/{event_id}/conflicts', { cursor });
    const path = eventPath(event_id);
    const body = html`
      ${live({ id: 'event', path: address(path, { cursor }) }, summary(event, may))}
      ${may('events:write') && decisions(event)}
      ${bodies(event, conflicts.data)}
      ${pager(path, { cursor }, conflicts.next_cursor)}
      ${await historyOf(visit, { resource_type: 'event', resource_id: event_id })}
    `;
    return { title: `Event ${event_id}`, body };
  });

  action('/events/:event_id/reprocess', 'events:write', async ({ api, params: { event_id = '' } }) => {
    await api.send('post', '/v1/events/{event_id}/reprocess');
    return { go: eventPath(event_id) };
  });

  action('/events/:event_id/dismiss', 'events:write', async ({ api, params: { event_id = '' }, form }) => {
    await api.send('post', '/v1/events/{event_id}/dismiss', {}, { reason: form.reason ?? '' });
    return { go: eventPath(event_id) };
  });
}

/** Returns whether the API can reprocess all matching events. It needs a filter and skips dismissed events. */
function acceptsAll(filter: Texts): boolean {
  const { state, dismissed, conflict } = filter;
  const isFiltered = REPROCESSABLE.some(({ name }) => filter[name] !== undefined);
  return isFiltered && state !== 'pending' && dismissed !== 'true' && conflict === undefined;
}

async function one({ api }: Visit, event_id: string): Promise<{ data: Summary[]; next_cursor: null }> {
  const event = fitsPath(event_id) ? await dataOrNull(api.get('/v1/events/{event_id}', { event_id })) : null;
  return { data: event === null ? [] : [event], next_cursor: null };
}

/** An event without a page is found in the list. */
function eventPath(id: string): string {
  return pathOf('/events', id) ?? '/events';
}

function eventTable(events: readonly Summary[], filter: Texts, may: Visit['may']): Html {
  const selected: Column<Summary> = [
    html`<span class="hidden-label">Selected</span>`,
    ({ id }) =>
      html`<input type="checkbox" name=${SELECTED + id} value="yes" aria-label=${`Select ${id}`} />`,
  ];
  const rowId = ({ id }: Summary) => `event-${encodeURIComponent(id)}`;
  const list = table(events, { caption: 'Events, newest first', stacked: true, captionHidden: true, rowId }, [
    ...(may('events:write') ? [selected] : []),
    ['Event', ({ id }) => eventLink(id), 'name'],
    ['Received', ({ received_at }) => instant(received_at), 'date'],
    ['Type', typeOf],
    [
      'State',
      (one) => html`<span>${state(one.state)}${one.dismissed_at && [' ', state('dismissed')]}</span>`,
    ],
    ['Reason', ({ reason, dismissed_reason }) => shortened(dismissed_reason ?? reason), 'wide'],
  ]);
  if (!may('events:write')) return list;
  return html`
    <form class="selection" hx-post="/events/reprocess">
      ${hiddenFields(filter)}
      ${list}
      <p class="actions"><button type="submit" class="quiet">Reprocess selected</button></p>
    </form>
  `;
}

function shortened(reason: string | null): Content {
  if (reason === null || reason.length <= REASON_CHARACTERS) return reason;
  return html`<span title=${reason}>${`${reason.slice(0, REASON_CHARACTERS).trimEnd()}…`}</span>`;
}

function typeOf({ event_type, source, state }: Summary): Content {
  if (source === 'import') return html`<span>${event_type} <span class="soft">(imported)</span></span>`;
  if (event_type !== null) return event_type;
  return html`<span class="soft">${state === 'pending' ? 'not processed yet' : 'unknown'}</span>`;
}

/** Outside the live list, so that a refresh cannot move the button. */
function reprocessForm(filter: Texts): Html {
  const { state, event_type, from, until } = filter;
  const which = [
    ...(state === undefined ? [] : [`in state ${state}`]),
    ...(event_type === undefined ? [] : [`of type ${event_type}`]),
    ...(from === undefined ? [] : [`received at ${written(from)} or later`]),
    ...(until === undefined ? [] : [`received before ${written(until)}`]),
  ].join(', ');
  const confirmation = `Reprocess all events ${which}?\n\nNothing takes effect twice. Dismissed events are skipped.`;
  return html`
    <form class="card" hx-post="/events/reprocess-all" hx-confirm=${confirmation}>
      ${hiddenFields(filter)}
      <p>${`Reprocess all events ${which}, on every page. Use this after an upgrade, or when the cause is fixed.`}</p>
      <button type="submit" class="quiet">Reprocess all</button>
    </form>
  `;
}

/** `2026-02-01 09:30 UTC`. */
function written(time: string): string {
  const text = time.replace('T', ' ');
  return /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text} UTC`;
}

function reprocessed({ reprocessed: done = '', without_body: skipped = '0' }: Texts): Html | null {
  if (!/^\d{1,9}$/.test(done) || !/^\d{1,9}$/.test(skipped)) return null;
  return html`
    <p class="notice" role="status">
      ${`Reprocessing ${counted(Number(done), 'event')}.`}
      ${Number(skipped) > 0 && ` ${count(Number(skipped))} more were skipped, because retention has deleted their bodies.`}
    </p>
  `;
}

function nothing(filter: Texts, id: string, cursor: string | undefined): Html {
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

function summary(event: Event, may: Visit['may']): Html {
  const { envelope_id, source, reason, finished_at, dismissed_at, conflicts } = event;
  return html`
    <div class="cards wide">
      <section class="card" aria-labelledby="received-title">
        <h2 id="received-title">Received</h2>
        ${facts([
          ['Event ID', html`<code>${event.id}</code>`],
          ['ID in the body', envelope_id === null ? 'none' : html`<code>${envelope_id}</code>`],
          ['Type', event.event_type ?? 'unknown'],
          ['Received', instant(event.received_at)],
          ['Signature', source === 'import' ? 'none: the event was imported' : 'verified'],
        ])}
      </section>
      <section class="card" aria-labelledby="result-title">
        <h2 id="result-title">Result</h2>
        ${facts([
          ['State', html`<span>${state(event.state)}${reason !== null && ` ${reason}`}</span>`],
          ['Finished', finished_at && instant(finished_at)],
          ['Effect', effectOf(event, may)],
          [
            'Dismissed',
            dismissed_at && html`<span>${instant(dismissed_at)}${`: ${event.dismissed_reason}`}</span>`,
          ],
          ['Conflicts', conflicts.stored > 0 && conflictCount(conflicts)],
        ])}
      </section>
    </div>
  `;
}

function conflictCount({ open, stored, not_stored, last_not_stored_at, dismissed_reason }: Conflicts): Html {
  const bodyCount = counted(stored, 'other body', 'other bodies');
  return html`
    <p>${open ? `${bodyCount} with the same ID. Compare them below, then dismiss.` : `${bodyCount}, dismissed: ${dismissed_reason}`}</p>
    ${
      last_not_stored_at !== null &&
      html`<p>${`${counted(not_stored, 'later delivery', 'later deliveries')} with further bodies were not stored, the last on `}${instant(last_not_stored_at)}.</p>`
    }
  `;
}

function effectOf({ state, event_type, effects }: Event, may: Visit['may']): Content {
  const { deduction_version: version, census_sync } = effects;
  if (version !== null) {
    const { deduction_id, late, tie_changed, future_dated } = version;
    return html`
      <p>
        ${`Version ${version.version} of deduction `}
        ${may('ledger:read') ? deductionLink(deduction_id) : html`<code>${deduction_id}</code>`}
        ${`, at position ${version.position} of the ledger.`}
      </p>
      ${late && html`<p>It arrived late. A newer version stays the latest.</p>`}
      ${tie_changed && html`<p>Another event with the same time has different content. The one received later applies.</p>`}
      ${future_dated && html`<p>Its time is in the future. Until then, events with an earlier time are recorded but do not apply.</p>`}
    `;
  }
  if (census_sync !== null) {
    const { employer_id } = census_sync;
    const path = may('census:read') ? pathOf('/census', employer_id) : null;
    return html`<span>${'A census sync of '}${idLink(path, employer_id)}</span>`;
  }
  if (state === 'pending') return 'Not applied yet.';
  if (state !== 'applied' || event_type !== CENSUS_SYNC_COMPLETE) return 'None.';
  return 'The uploaded census syncs of the employer are completed.';
}

/** Renders the actions that the API would accept; null when there are none. */
function decisions({ id, state, body, dismissed_at, conflicts, effects }: Event): Html | null {
  const path = pathOf('/events', id);
  const mayReprocess = state !== 'pending' && body !== null;
  const { tie_changed = false, future_dated = false } = effects.deduction_version ?? {};
  const isMarked = state === 'quarantined' || tie_changed || future_dated;
  // Readiness fails for these.
  const mayDismiss = conflicts.open || (isMarked && dismissed_at === null);
  if (path === null || (!mayReprocess && !mayDismiss)) return null;
  const reprocess = decision(`${path}/reprocess`, {
    button: 'Reprocess',
    look: state === 'quarantined' ? '' : 'quiet',
    hint: 'Reads and applies the event again, for example after an upgrade. Nothing takes effect twice.',
  });
  const dismiss = decision(`${path}/dismiss`, {
    button: 'Dismiss',
    hint: 'Readiness no longer fails for this event. It stays in the list with your reason.',
    reason: 'Reason for dismissing',
  });
  return html`
    <section class="card" aria-labelledby="decide">
      <h2 id="decide">Actions</h2>
      ${mayReprocess && reprocess}
      ${mayDismiss && dismiss}
    </section>
  `;
}

function bodies(event: Event, conflicts: readonly Conflict[]): Html {
  const { id } = event;
  const isShown = [event, ...conflicts].some(({ body }) => body !== null);
  return html`
    <section aria-labelledby="body-title">
      <h2 id="body-title">${conflicts.length > 0 ? 'Bodies' : 'Body'}</h2>
      ${conflicts.length === 0 ? code('Body as received', event, id) : conflicts.map((conflict) => compared(event, conflict))}
      ${isShown && html`<p class="hint">${`${MASK} hides personal fields. All other values are shown as received.`}</p>`}
    </section>
  `;
}

/** The first body applies; lines that differ are marked in both. */
function compared(event: Event, conflict: Conflict): Html {
  const [one, other] = [event, conflict].map(({ body }) => body && linesOf(body)?.map(({ whole }) => whole));
  const differs = one && other ? differenceOf(one, other) : { one: [], other: [] };
  const { received_at, dismissed_at, dismissed_reason } = conflict;
  return html`
    <div class="beside">
      <div>
        <h3>${'First body (applied)'}</h3>
        <p class="hint">${'Received '}${instant(event.received_at)}</p>
        ${code('First body', event, event.id, differs.one)}
      </div>
      <div>
        <h3>${'Other body with the same ID '}${state(dismissed_at === null ? 'conflict' : 'dismissed')}</h3>
        <p class="hint">${'Received '}${instant(received_at)}${dismissed_reason !== null && ` · dismissed: ${dismissed_reason}`}</p>
        ${code('Other body', conflict, event.id, differs.other)}
      </div>
    </div>
  `;
}

/** `differs`: the lines to mark, for a body that is compared. */
function code(
  name: string,
  { body, body_absent }: Pick<Event, 'body' | 'body_absent'>,
  eventId: string,
  differs?: readonly boolean[],
): Html {
  if (body === null) return html`<div class="card empty"><p>${body_absent}</p></div>`;
  const lines = linesOf(body);
  if (lines === null) {
    const reason = `This body is not JSON (${count(body.length)} characters), so personal data in it cannot be masked. `;
    const raw = html`<a href=${`/v1/events/${encodeURIComponent(eventId)}`}>Open the raw event</a>`;
    return html`<div class="card empty"><p>${reason}${raw}</p></div>`;
  }
  const content = lines.map(({ shown }, at) => {
    if (differs === undefined) return `${shown}\n`;
    return differs[at] ? html`<mark>${`≠ ${shown}\n`}</mark>` : `  ${shown}\n`;
  });
  return html`
    <pre class="body" tabindex="0" role="region" aria-label=${name}><code>${content}</code></pre>
    ${lines.length >= LINES_MAX && html`<p class="hint">${`Only the first ${count(LINES_MAX)} lines are shown.`}</p>`}
  `;
}
