/** The list of events, newest first, and reprocessing of a selection or a whole filter. */
import type { RowOf } from '../../../api/operation.ts';
import { reprocessEvent, reprocessEvents } from '../../../api/operations/event-work.ts';
import { listEvents } from '../../../api/operations/events.ts';
import { Refusal } from '../../../api/problem.ts';
import { DEDUCTION_UPDATED, EVENT_TYPES } from '../../../contract/events.ts';
import { empty, live, state } from '../../elements/facts.ts';
import { choicesOf, hiddenFields, idsIn, SELECT_ALL } from '../../elements/fields.ts';
import { alignedMoney, count, counted, instant, term } from '../../elements/format.ts';
import { address, employeeLink, eventLink, named } from '../../elements/links.ts';
import { type Column, filtersIn, PAGE_ROWS, table, withNote } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { readList } from '../employers.ts';
import { effectLabel, REGISTRATION, typeName } from './labels.ts';

type Summary = RowOf<typeof listEvents>;
type Texts = Visit['query'];

/** Two lines; the event's page shows the whole reason. */
const REASON_CHARACTERS = 120;
/** Prefix of a row's checkbox, followed by the event's id. */
const SELECTED = 'selected:';
const STATES = ['pending', 'applied', 'ignored', 'quarantined'];
/** The filters that the API accepts for reprocessing all matching events. The service may send other types. */
const REPROCESSABLE = [
  { name: 'state', label: 'State', choices: choicesOf(STATES) },
  { name: 'event_type', label: 'Type', size: 18, suggestions: EVENT_TYPES },
  { name: 'from', label: 'Received from', type: 'datetime-local' },
  { name: 'until', label: 'Received before', type: 'datetime-local' },
] as const;
const FILTERS = [
  ...REPROCESSABLE,
  { name: 'dismissed', label: 'Dismissed', choices: choicesOf({ false: 'No', true: 'Yes' }) },
  { name: 'conflict', label: 'Conflict', choices: choicesOf({ true: 'Open conflict' }) },
] as const;

export function eventListPages({ page, action }: Console): void {
  page('/events', 'events:read', async (visit) => {
    const { query, may } = visit;
    const { cursor } = query;
    const { data, filter, form, pages } = await readList(visit, '/events', listEvents, FILTERS);
    const isReprocessable = data.length > 0 && may('events:write') && acceptsAll(filter);
    const shown = data.length === 0 ? nothing(filter, cursor) : eventTable(data, filter, may);
    const body = html`
      ${reprocessed(query)}
      ${form}
      ${live({ id: 'events', path: address('/events', { ...filter, cursor }) }, shown)}
      ${pages}
      ${isReprocessable && reprocessForm(filter)}
    `;
    return { title: 'Events', body };
  });

  action('/events/reprocess', 'events:write', async ({ api, form }) => {
    const ids = idsIn(form, SELECTED);
    if (ids.length === 0) throw new Refusal('INVALID_REQUEST', 'Select at least one event.');
    if (ids.length > PAGE_ROWS) throw new Refusal('TOO_LARGE', `Select at most ${PAGE_ROWS} events.`);
    for (const event_id of ids) await api.perform(reprocessEvent, { params: { event_id } });
    return { go: address('/events', { ...filtersIn(form, FILTERS), reprocessed: ids.length }) };
  });

  action('/events/reprocess-all', 'events:write', async ({ api, form }) => {
    const done = await api.perform(reprocessEvents, { body: filtersIn(form, REPROCESSABLE) });
    return { go: address('/events', { ...filtersIn(form, FILTERS), ...done }) };
  });
}

/** Returns whether the API can reprocess all matching events. It needs a filter and skips dismissed events. */
function acceptsAll(filter: Texts): boolean {
  const { state, dismissed, conflict } = filter;
  const isFiltered = REPROCESSABLE.some(({ name }) => filter[name] !== undefined);
  return isFiltered && state !== 'pending' && dismissed !== 'true' && conflict === undefined;
}

function eventTable(events: readonly Summary[], filter: Texts, may: Visit['may']): Html {
  const selected: Column<Summary> = [
    html`<span class="hidden-label">Selected</span>`,
    ({ id }) =>
      html`<input type="checkbox" name=${SELECTED + id} value="yes" aria-label=${`Select ${id}`} />`,
  ];
  const rowId = ({ id }: Summary) => `event-${encodeURIComponent(id)}`;
  const list = table(events, { caption: 'Events, newest first', captionHidden: true, rowId }, [
    ...(may('events:write') ? [selected] : []),
    ['Received', ({ received_at }) => instant(received_at), 'date'],
    ...(may('ledger:read') ? subjectColumns(events) : [['Type', typeOf] satisfies Column<Summary>]),
    ['Effect', effectOf, 'wide'],
    ['Event', ({ id }) => eventLink(id), 'small'],
  ]);
  if (!may('events:write')) return list;
  return html`
    <form class="selection" hx-post="/events/reprocess">
      ${hiddenFields(filter)}
      ${SELECT_ALL}
      ${list}
      <p class="actions"><button type="submit" class="quiet">Reprocess selected</button></p>
    </form>
  `;
}

/** Returns the columns of the employee, coverage and amount that each event names. A census event names an employer. */
function subjectColumns(events: readonly Summary[]): readonly Column<Summary>[] {
  const amount = alignedMoney(events.map(({ subject }) => subject?.member_contribution ?? ''));
  return [
    [
      'Employee or employer',
      ({ subject }) => {
        if (subject?.employee_id) return employeeLink(subject.employee_id);
        return subject?.employer_id ? named('employer', subject.employer_id) : '–';
      },
      'name',
    ],
    ['About', aboutOf],
    [
      'Employee contribution',
      ({ subject }) =>
        subject?.member_contribution == null
          ? ''
          : withNote(amount(subject.member_contribution), subject.period),
      'number',
    ],
  ];
}

function effectOf(event: Summary): Html {
  const { reason, flags, dismissed_at, dismissed_reason } = event;
  return html`
    <span>
      ${state(...effectLabel(event))}
      ${dismissed_at && [' ', state('dismissed')]}
      ${flags.includes('time-ignored') && [' ', state('time ignored')]}
      ${flags.includes('contract-changed') && [' ', state('contract changed')]}
      <span class="soft under">${shortened(dismissed_reason ?? reason)}</span>
    </span>
  `;
}

function shortened(reason: string | null): Content {
  if (reason === null || reason.length <= REASON_CHARACTERS) return reason;
  return html`<span title=${reason}>${`${reason.slice(0, REASON_CHARACTERS).trimEnd()}…`}</span>`;
}

/** Shows the line of coverage, and a type that is not the usual one. An event without a line of coverage has its type. */
function aboutOf(event: Summary): Content {
  const { subject, event_type, source } = event;
  if (subject?.line_of_coverage == null) return typeOf(event);
  const type = event_type !== null && event_type !== DEDUCTION_UPDATED && typeName(event_type);
  const notes = [type, source === 'import' && 'imported'].filter((note) => note !== false);
  const coverage = term(subject.line_of_coverage);
  return notes.length === 0 ? coverage : withNote(coverage, notes.join(', '));
}

function typeOf({ event_type, source, state: now }: Summary): Content {
  const name = event_type === null ? (now === 'pending' ? 'not read yet' : 'unknown') : typeName(event_type);
  const imported = source === 'import' && html` <span class="soft">(imported)</span>`;
  return html`<span class=${name === event_type ? undefined : 'term'} title=${event_type}>${name}${imported}</span>`;
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

function nothing(filter: Texts, cursor: string | undefined): Html {
  if (Object.keys(filter).length > 0 || cursor !== undefined)
    return empty('No matching events', html`<p><a href="/events">Show all events</a></p>`);
  const advice = html`<p>${REGISTRATION}</p>`;
  return empty('No events yet', advice);
}
