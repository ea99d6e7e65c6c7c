/** Which events the list shows: what its address says, as the API takes it. */
import { EVENT_TYPES } from '../../../contract/events.ts';
import { ANY, choicesOf, selectField, textField } from '../../elements/field.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';

export const STATES = ['pending', 'applied', 'ignored', 'quarantined'] as const;
export type State = (typeof STATES)[number];
const FILTERS = ['state', 'event_type', 'from', 'until', 'dismissed', 'conflict'] as const;
/** What the API takes for putting back all that pass. */
const REPROCESSABLE = ['state', 'event_type', 'from', 'until'] as const;

export type Filter = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

export function filterOf(query: Visit['query']): Filter {
  return Object.fromEntries(
    FILTERS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  );
}

/** What the API refuses it refuses by name. */
export function asQuery({ state, event_type, from, until, dismissed, conflict }: Filter) {
  return {
    ...(state !== undefined && { state: state as State }),
    ...(event_type !== undefined && { event_type }),
    ...(from !== undefined && { from }),
    ...(until !== undefined && { until }),
    ...(dismissed !== undefined && { dismissed: dismissed as unknown as boolean }),
    ...(conflict !== undefined && { conflict: conflict as unknown as boolean }),
  };
}

/** Whether all that pass may be put back: the API wants to be told which, and leaves out what was dismissed. */
export function isReprocessable(filter: Filter): boolean {
  return (
    REPROCESSABLE.some((name) => filter[name] !== undefined) &&
    filter.state !== 'pending' &&
    filter.dismissed !== 'true' &&
    filter.conflict === undefined
  );
}

/** `are quarantined and came before 2026-02-01 09:30 UTC`. */
export function inWords({ state, event_type, from, until }: Filter): string {
  return [
    ...(state === undefined ? [] : [`are ${state}`]),
    ...(event_type === undefined ? [] : [`are of the type ${event_type}`]),
    ...(from === undefined ? [] : [`came at ${written(from)} or later`]),
    ...(until === undefined ? [] : [`came before ${written(until)}`]),
  ].join(' and ');
}

/** A time as a browser's field gives it, or as somebody wrote it into the address. */
function written(time: string): string {
  const text = time.replace('T', ' ');
  return /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text} UTC`;
}

export function filterForm(filter: Filter, id: string): Html {
  const given = (name: (typeof FILTERS)[number]) => ({ name, value: filter[name] ?? '' });
  // A browser's field has no zone, and the API takes what has none as UTC.
  const time = (name: 'from' | 'until') => ({
    name,
    value: filter[name]?.replace(/Z$/, '') ?? '',
    type: 'datetime-local' as const,
  });
  return html`
    <div>
      <form class="fields" method="get" action="/events" role="search" aria-label="One event">
        ${textField({ name: 'id', label: 'Event id', value: id, size: 36 })}
        <button type="submit" class="quiet">Find</button>
      </form>
      <form class="fields" method="get" action="/events" aria-label="Filters">
        ${selectField({ ...given('state'), label: 'State', choices: [ANY, ...STATES.map((value) => ({ value, label: value }))] })}
        ${typeField(filter.event_type ?? '')}
        ${textField({ ...time('from'), label: 'Received from (UTC)' })}
        ${textField({ ...time('until'), label: 'Before (UTC)' })}
        ${selectField({ ...given('dismissed'), label: 'Dismissed', choices: [ANY, ...choicesOf({ false: 'no', true: 'yes' })] })}
        ${selectField({ ...given('conflict'), label: 'Conflict', choices: [ANY, { value: 'true', label: 'with another body' }] })}
        <button type="submit">Show</button>
        ${(Object.keys(filter).length > 0 || id !== '') && html`<a class="button quiet" href="/events">Show all</a>`}
      </form>
    </div>
  `;
}

/** Any type may have come; the known ones are proposed. */
function typeField(value: string): Html {
  return html`
    <div class="field">
      <label for="event_type">Type</label>
      <input id="event_type" name="event_type" list="event-types" size="28" value=${value} autocomplete="off" />
      <datalist id="event-types">${EVENT_TYPES.map((type) => html`<option value=${type}></option>`)}</datalist>
    </div>
  `;
}
