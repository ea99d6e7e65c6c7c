/** The decisions about an open item, or about all open items of an employer. */
import type { RowOf } from '../../../api/operation.ts';
import { listItemDecisions } from '../../../api/operations/open-items.ts';
import { empty } from '../../elements/facts.ts';
import { problemSummary } from '../../elements/fields.ts';
import { actorName, instant } from '../../elements/format.ts';
import { employeeOf, runLink } from '../../elements/links.ts';
import { type Column, PAGE_ROWS, pager, table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import * as labels from './labels.ts';

type Listed = RowOf<typeof listItemDecisions>;

const PATH = '/open-items/decisions';

export function decisionPages({ page }: Console): void {
  page(PATH, 'runs:read', async (visit) => ({
    title: visit.query.item_id === undefined ? 'Decisions about open items' : 'Decisions about an open item',
    body: await listOf(visit),
  }));
}

async function listOf(visit: Visit): Promise<Html> {
  const { api, query } = visit;
  const { employer_id = '', item_id, employee_id, cursor } = query;
  const list = { limit: PAGE_ROWS, cursor, item_id, employee_id };
  const call = api.perform(listItemDecisions, { params: { employer_id }, query: list });
  const { data: decisions, problem } = await attempt(call, 400);
  if (problem !== undefined) return problemSummary(problem);
  return html`
    <p><a href=${labels.itemsPath({ employer_id })}>${`Open items of ${employer_id}`}</a></p>
    ${decisions.data.length === 0 ? empty('No decisions') : table(decisions.data, { caption: 'Decisions', captionHidden: true, stacked: true }, columnsFor(visit))}
    ${pager(PATH, query, decisions.next_cursor)}
  `;
}

function columnsFor(visit: Visit): Column<Listed>[] {
  return [
    ['Employee', ({ employee_id }) => employeeOf(employee_id, visit), 'name'],
    ['Item', (decision) => itemOf(decision, visit), 'wide'],
    ['Decided', ({ decided_at }) => instant(decided_at), 'date'],
    ['By', ({ decided_by }) => actorName(decided_by)],
    ['Decision', labels.decided, 'wide'],
    ['Reason', ({ reason }) => reason, 'wide'],
  ];
}

function itemOf({ kind, line_of_coverage, taxability, deduction_id, run_id }: Listed, { may }: Visit): Html {
  if (kind === null || line_of_coverage === null || taxability === null)
    return html`<span>All items of the employee</span>`;
  const deduction = labels.deductionOf({ line_of_coverage, taxability, deduction_id }, may);
  return html`<span>${labels.KINDS[kind]}${': '}${deduction}${run_id !== null && [', run ', runLink(run_id)]}</span>`;
}
