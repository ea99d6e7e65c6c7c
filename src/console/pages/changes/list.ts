/** Employment changes: what payroll reported, and whether the service received it. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { defined, need } from '../../api-client.ts';
import { pausedNotice } from '../../elements/checks.ts';
import { empty, live, state } from '../../elements/facts.ts';
import { ANY, choicesOf, filterForm, selectField, textField, timeField } from '../../elements/fields.ts';
import { count, instant } from '../../elements/format.ts';
import { address, changePath, employeeOf } from '../../elements/links.ts';
import { PAGE_ROWS, pager, table } from '../../elements/table.ts';
import { type Content, type Html, html } from '../../html.ts';
import { type ConsoleParts, page, type Visit } from '../../page.ts';

type Change = Schemas['EmployeeChangeSummary'];
const FILTERS = ['state', 'kind', 'employee_id', 'from', 'until'] as const;

export const KINDS = {
  'new-hire': 'New hire',
  termination: 'Termination',
  demographic: 'Address change',
  'compensation-change': 'Pay or status change',
} as const satisfies Record<Change['kind'], string>;

const STATES = [
  'pending',
  'sending',
  'delivered',
  'rejected',
  'canceled',
] as const satisfies readonly Change['state'][];

export function changeListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/changes', scope: 'changes:read' }, async (visit) => {
    const { query } = visit;
    const { data, next_cursor } = await readChanges(visit);
    return {
      title: 'Employment changes',
      place: 'changes',
      body: html`
        ${filters(query)}
        ${live(
          { id: 'changes', path: address('/changes', query) },
          html`
            ${await pausedNotice(visit)}
            ${data.length === 0 ? nothing(query) : changeTable(data, visit)}
            ${pager('/changes', query, next_cursor)}
          `,
        )}
      `,
    };
  });
}

async function readChanges({ api, query }: Visit) {
  const { employee_id, from, until, cursor } = query;
  // The API validates the values and names the wrong ones.
  const [state, kind] = [query.state, query.kind] as [
    Change['state'] | undefined,
    Change['kind'] | undefined,
  ];
  const list = { limit: PAGE_ROWS, ...defined({ state, kind, employee_id, from, until, cursor }) };
  return need(await api.GET('/v1/employee-changes', { params: { query: list } }));
}

function filters(query: Visit['query']): Html {
  const { state = '', kind = '', employee_id = '', from, until } = query;
  const states = [ANY, ...STATES.map((value) => ({ value, label: value }))];
  return filterForm(
    '/changes',
    FILTERS.some((name) => query[name] !== undefined),
    [
      selectField({ name: 'state', label: 'State', value: state, choices: states }),
      selectField({ name: 'kind', label: 'Change', value: kind, choices: [ANY, ...choicesOf(KINDS)] }),
      textField({ name: 'employee_id', label: 'Employee ID', value: employee_id }),
      timeField('from', 'Accepted from (UTC)', from),
      timeField('until', 'Accepted before (UTC)', until),
    ],
  );
}

function changeTable(changes: readonly Change[], visit: Visit): Html {
  return table<Change>({
    caption: 'Employment changes, newest first',
    stacked: true,
    captionHidden: true,
    columns: [
      {
        title: 'Change',
        kind: 'name',
        cell: ({ id, kind }) => html`<a href=${changePath(id)}>${KINDS[kind]}</a>`,
      },
      { title: 'Employee', cell: ({ employee_id }) => employeeOf(employee_id, visit) },
      {
        title: 'State',
        cell: ({ state: now, holding }) =>
          html`<span>${state(now)}${holding && [' ', state('blocks others', 'warn')]}</span>`,
      },
      { title: 'Result', cell: resultOf },
      { title: 'Attempts', kind: 'number', cell: ({ attempts }) => count(attempts) },
      { title: 'Accepted', kind: 'date', cell: ({ created_at }) => instant(created_at) },
    ],
    rows: changes,
  });
}

function resultOf({ reason, earlier_change_id, may_have_been_applied }: Change): Content {
  return html`
    <span>
      ${earlier_change_id !== null && html`<a href=${changePath(earlier_change_id)}>waiting for another change</a>`}
      ${earlier_change_id !== null && reason !== null && ' · '}${reason}
      ${may_have_been_applied && html`<span class="soft">${reason === null ? '' : ' · '}the service may have received it</span>`}
    </span>
  `;
}

function nothing(query: Visit['query']): Html {
  const isFiltered = [...FILTERS, 'cursor'].some((name) => query[name] !== undefined);
  if (isFiltered) return empty('No matching changes');
  return empty(
    'No employment changes yet',
    html`<p>${'Payroll reports hires, terminations, address changes and pay changes through the API: '}<code>POST /v1/employee-changes/…</code>, with a token that has the scope changes:write.</p>`,
  );
}
