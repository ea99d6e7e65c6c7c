/** Employment changes: what payroll reported, and whether the service received it. */
import type { Schemas } from '../../../client.ts';
import { pausedNotice } from '../../elements/checks.ts';
import { empty, live, state } from '../../elements/facts.ts';
import { choicesOf, type Filter, filterForm, filtersIn } from '../../elements/fields.ts';
import { count, instant } from '../../elements/format.ts';
import { address, changePath, employeeOf } from '../../elements/links.ts';
import { type Column, PAGE_ROWS, pager, table } from '../../elements/table.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console } from '../../page.ts';

type Change = Schemas['EmployeeChangeSummary'];

export const KINDS: Readonly<Record<Change['kind'], string>> = {
  'new-hire': 'New hire',
  termination: 'Termination',
  demographic: 'Address change',
  'compensation-change': 'Pay or status change',
};
const STATES: readonly Change['state'][] = ['pending', 'sending', 'delivered', 'rejected', 'canceled'];
const FILTERS: readonly Filter[] = [
  { name: 'state', label: 'State', choices: choicesOf(STATES) },
  { name: 'kind', label: 'Change', choices: choicesOf(KINDS) },
  { name: 'employee_id', label: 'Employee ID' },
  { name: 'from', label: 'Accepted from (UTC)', type: 'datetime-local' },
  { name: 'until', label: 'Accepted before (UTC)', type: 'datetime-local' },
];

/** Columns that the pages of an employee and of a change share. */
export const CHANGE_COLUMN: Column<Change> = [
  'Change',
  ({ id, kind }) => html`<a href=${changePath(id)}>${KINDS[kind]}</a>`,
  'name',
];
export const ACCEPTED_COLUMN: Column<Change> = ['Accepted', ({ created_at }) => instant(created_at), 'date'];

export function changeListPages({ page }: Console): void {
  page('/changes', 'changes:read', async (visit) => {
    const { api, query } = visit;
    const { cursor } = query;
    const filter = filtersIn(query, FILTERS);
    const list = { limit: PAGE_ROWS, cursor, ...filter };
    const { data, next_cursor } = await api.get('/v1/employee-changes', list);
    const isWhole = Object.keys(filter).length === 0 && cursor === undefined;
    const caption = 'Employment changes, newest first';
    return {
      title: 'Employment changes',
      body: html`
        ${filterForm('/changes', query, FILTERS)}
        ${live(
          { id: 'changes', path: address('/changes', query) },
          html`
            ${await pausedNotice(visit)}
            ${
              data.length === 0
                ? nothing(isWhole)
                : table(data, { caption, stacked: true, captionHidden: true }, [
                    CHANGE_COLUMN,
                    ['Employee', ({ employee_id }) => employeeOf(employee_id, visit)],
                    ['State', stateOf],
                    ['Result', resultOf],
                    ['Attempts', ({ attempts }) => count(attempts), 'number'],
                    ACCEPTED_COLUMN,
                  ])
            }
            ${pager('/changes', query, next_cursor)}
          `,
        )}
      `,
    };
  });
}

function stateOf({ state: now, blocking }: Change): Html {
  return html`<span>${state(now)}${blocking && [' ', state('blocks others', 'warn')]}</span>`;
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

function nothing(isWhole: boolean): Html {
  if (!isWhole) return empty('No matching changes');
  return empty(
    'No employment changes yet',
    html`<p>${'Payroll reports hires, terminations, address changes and pay changes through the API: '}<code>POST /v1/employee-changes/…</code>, with a token that has the scope changes:write.</p>`,
  );
}
