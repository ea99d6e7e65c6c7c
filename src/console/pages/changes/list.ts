/** The employment changes that payroll reported. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import { type getEmployeeChange, listEmployeeChanges } from '../../../api/operations/employee-changes.ts';
import { pausedNotice } from '../../elements/checks.ts';
import { empty, live, state } from '../../elements/facts.ts';
import { choicesOf } from '../../elements/fields.ts';
import { count, instant, resultText } from '../../elements/format.ts';
import { address, changePath, employeeOf } from '../../elements/links.ts';
import { type Column, EMPLOYEE_FILTER, type Filter, table } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { EMPLOYER_FILTER, readList } from '../employers.ts';

export type Change = ResultOf<typeof getEmployeeChange>;
export type Summary = RowOf<typeof listEmployeeChanges>;

export const KINDS: Readonly<Record<Change['kind'], string>> = {
  'new-hire': 'New hire',
  termination: 'Termination',
  demographic: 'Address change',
  'compensation-change': 'Pay or status change',
};
export const STATES: Readonly<Record<Change['state'], string>> = {
  pending: 'It is sent automatically, and retried until the service responds.',
  sending: 'It is being sent now.',
  rejected: 'The service rejected it.',
  delivered: 'The service accepted it. Its contents have been deleted here.',
  canceled: 'It will not be sent, and its contents have been deleted.',
};
export const CHANGE_COLUMN: Column<Summary> = [
  'Change',
  ({ id, kind }) => html`<a href=${changePath(id)}>${KINDS[kind]}</a>`,
  'name',
];
export const ACCEPTED_COLUMN: Column<Summary> = ['Accepted', ({ created_at }) => instant(created_at), 'date'];

const FILTERS: readonly Filter[] = [
  { name: 'state', label: 'State', choices: choicesOf(Object.keys(STATES)) },
  { name: 'kind', label: 'Change', choices: choicesOf(KINDS) },
  EMPLOYEE_FILTER,
  EMPLOYER_FILTER,
  { name: 'from', label: 'Accepted from', type: 'datetime-local' },
  { name: 'until', label: 'Accepted before', type: 'datetime-local' },
];

export function changeListPages({ page }: Console): void {
  page('/changes', 'changes:read', async (visit) => {
    const { query } = visit;
    const { data, filter, form, pages } = await readList(visit, '/changes', listEmployeeChanges, FILTERS);
    const isWhole = Object.keys(filter).length === 0 && query.cursor === undefined;
    const list = data.length === 0 ? nothing(isWhole) : changeTable(data, visit);
    const shown = html`${await pausedNotice(visit)}${list}${pages}`;
    const body = html`${form}${live({ id: 'changes', path: address('/changes', query) }, shown)}`;
    return { title: 'Employment changes', body };
  });
}

function changeTable(changes: readonly Summary[], visit: Visit): Html {
  const caption = 'Employment changes, newest first';
  const blocking = [' ', state('blocks others', 'warn')];
  return table(changes, { caption, captionHidden: true }, [
    CHANGE_COLUMN,
    ['Employee', ({ employee_id }) => employeeOf(employee_id, visit)],
    ['State', (change) => html`<span>${state(change.state)}${change.blocking && blocking}</span>`],
    ['Result', resultOf],
    ['Attempts', ({ attempts }) => count(attempts), 'number'],
    ACCEPTED_COLUMN,
  ]);
}

function resultOf({ kind, reason, earlier_change_id, may_have_been_applied }: Summary): Content {
  return html`
    <span>
      ${earlier_change_id !== null && html`<a href=${changePath(earlier_change_id)}>waiting for another change</a>`}
      ${earlier_change_id !== null && reason !== null && ' · '}${reason !== null && resultText(reason, kind)}
      ${may_have_been_applied && html`<span class="soft">${reason === null ? '' : ' · '}the service may have received it</span>`}
    </span>
  `;
}

function nothing(isWhole: boolean): Html {
  if (!isWhole) return empty('No matching changes', html`<p><a href="/changes">Show all changes</a></p>`);
  const advice = html`<p>Payroll reports hires, terminations, address changes and pay changes through the API. They appear here.</p>`;
  return empty('No employment changes yet', advice);
}
