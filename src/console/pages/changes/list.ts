/** Employment changes: what payroll reported, and what became of it. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { command, empty } from '../../elements/empty.ts';
import { count } from '../../elements/facts.ts';
import { ANY, choicesOf, selectField, textField } from '../../elements/field.ts';
import { gateBox } from '../../elements/gate.ts';
import { employeeOf } from '../../elements/links.ts';
import { live } from '../../elements/live.ts';
import { address, PAGE_ROWS, pager } from '../../elements/pager.ts';
import { state } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { instant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { changePath, KINDS, STATES } from './words.ts';

type Change = Schemas['AcceptedChange'];
const FILTERS = ['state', 'kind', 'employee_id', 'from', 'until'] as const;

export function changeListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/changes', scope: 'changes:read' }, async (visit) => {
    const { query } = visit;
    const { data, next_cursor } = await readChanges(visit);
    return {
      title: 'Employment changes',
      place: 'changes',
      body: html`
        <div>
          ${filters(visit)}
          ${live(
            { id: 'changes', path: address('/changes', query) },
            html`
              <div>
                ${await gateBox(visit)}
                ${data.length === 0 ? nothing(visit) : changeTable(data, visit)}
                ${pager('/changes', query, next_cursor)}
              </div>
            `,
          )}
          ${data.length > 0 && reporting()}
        </div>
      `,
    };
  });
}

async function readChanges({ api, query }: Visit) {
  const { state, kind, employee_id, from, until, cursor } = query;
  return need(
    await api.GET('/v1/employee-changes', {
      params: {
        query: {
          limit: PAGE_ROWS,
          // What is none of them the API refuses by name.
          ...(state !== undefined && { state: state as Change['state'] }),
          ...(kind !== undefined && { kind: kind as Change['kind'] }),
          ...(employee_id !== undefined && { employee_id }),
          ...(from !== undefined && { from }),
          ...(until !== undefined && { until }),
          ...(cursor !== undefined && { cursor }),
        },
      },
    }),
  );
}

function filters({ query }: Visit): Html {
  const given = (name: (typeof FILTERS)[number]) => ({ name, value: query[name] ?? '' });
  // A browser's field has no zone, and the API takes what has none as UTC.
  const time = (name: 'from' | 'until') => ({
    name,
    value: query[name]?.replace(/(:00)?(\.0+)?Z$/, '') ?? '',
    type: 'datetime-local' as const,
  });
  return html`
    <form class="fields" method="get" action="/changes" aria-label="Filters">
      ${selectField({ ...given('state'), label: 'State', choices: [ANY, ...STATES.map((value) => ({ value, label: value }))] })}
      ${selectField({ ...given('kind'), label: 'Change', choices: [ANY, ...choicesOf(KINDS)] })}
      ${textField({ ...given('employee_id'), label: 'Employee id' })}
      ${textField({ ...time('from'), label: 'Accepted from (UTC)' })}
      ${textField({ ...time('until'), label: 'Before (UTC)' })}
      <button type="submit">Show</button>
      ${FILTERS.some((name) => query[name] !== undefined) && html`<a class="button quiet" href="/changes">Show all</a>`}
    </form>
  `;
}

function changeTable(changes: readonly Change[], visit: Visit): Html {
  return table({
    caption: 'Employment changes, the newest first',
    stacked: true,
    captionHidden: true,
    columns: [
      {
        title: 'Change',
        kind: 'name',
        cell: ({ change_id, kind }: Change) => html`<a href=${changePath(change_id)}>${KINDS[kind]}</a>`,
      },
      { title: 'Employee', cell: ({ employee_id }: Change) => employeeOf(employee_id, visit) },
      { title: 'State', cell: stateOf },
      { title: 'What came of it', cell: cameOfIt },
      { title: 'Tries', kind: 'number', cell: ({ attempts }: Change) => count(attempts) },
      { title: 'Accepted', kind: 'date', cell: ({ created_at }: Change) => instant(created_at) },
    ],
    rows: changes,
  });
}

function stateOf({ state: now, holding }: Change): Html {
  return html`<span>${state(now)}${holding && [' ', state('holds others', 'warn')]}</span>`;
}

function cameOfIt({ reason, waits_behind, may_have_been_applied }: Change): Content {
  return html`
    <span>
      ${waits_behind !== null && html`<a href=${changePath(waits_behind)}>waits for another change</a>`}
      ${waits_behind !== null && reason !== null && ' · '}${reason}
      ${may_have_been_applied && html`<span class="soft">${reason === null ? '' : ' · '}the service may know of it all the same</span>`}
    </span>
  `;
}

function nothing({ query }: Visit): Html {
  const isFiltered = [...FILTERS, 'cursor'].some((name) => query[name] !== undefined);
  if (isFiltered) return empty('No change is like that.');
  return empty('Payroll has reported no employment change yet.', reporting());
}

/** Here nothing is reported: a hire has some twenty fields, which payroll's system has already. */
function reporting(): Html {
  return html`
    <div>
      <p>${'Hires, terminations, moves and changes of pay are reported by payroll’s system ('}<code>POST /v1/employee-changes/termination</code>${' and so on), or from a file where the sidecar runs:'}</p>
      ${command('benefits-sidecar change termination --file leavers.csv')}
    </div>
  `;
}
