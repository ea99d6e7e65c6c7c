/** Open items of an employer: the list with filters and totals, and the form that decides about the selected items. */
import type { ResultOf } from '../../../api/operation.ts';
import { getOpenItemTotals, listOpenItems } from '../../../api/operations/open-items.ts';
import { empty, later, savedNotice, state } from '../../elements/facts.ts';
import { problemSummary, SELECT_ALL } from '../../elements/fields.ts';
import { actorName, count, counted, dayOf, dayText, money, plain, sentence } from '../../elements/format.ts';
import { address, employeeOf, idLink, nameable, nameIn } from '../../elements/links.ts';
import { type Column, filtersIn, PAGE_ROWS, pager, table } from '../../elements/list.ts';
import { payDateLink } from '../../elements/paychecks.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { employersOf, filtersOf } from '../employers.ts';
import { decisionForm } from './decide.ts';
import * as labels from './labels.ts';

type Item = labels.Item;
const SUMS_PATH = '/open-items/sums';
/** Employers whose items one request adds up. */
const SUMS_AT_ONCE = 20;

type Totals = ResultOf<typeof getOpenItemTotals>;
type Outstanding = Pick<Item, 'outstanding_member_amount' | 'outstanding_employer_amount'>;
const MEMBER_OUTSTANDING: Column<Outstanding> = [
  'Employee amount',
  ({ outstanding_member_amount }) => money(outstanding_member_amount),
  'number',
];
const EMPLOYER_OUTSTANDING: Column<Outstanding> = [
  'Employer amount',
  ({ outstanding_employer_amount }) => money(outstanding_employer_amount),
  'number',
];

export function itemPages({ page, part }: Console): void {
  page('/open-items', 'runs:read', async (visit) => {
    const { employer_id } = visit.query;
    return employer_id === undefined
      ? { title: 'Open items', body: await chooser(visit) }
      : {
          title: html`Open items of ${nameIn('employer', employer_id)}`,
          body: await listOf(visit, employer_id),
        };
  });

  part('/open-items/totals', 'runs:read', async ({ api, query }) => {
    const { employer_id, ...filters } = filtersIn(query, labels.FILTERS);
    const call = api.perform(getOpenItemTotals, { params: { employer_id }, query: filters });
    const { data, problem } = await attempt(call, 400);
    return problem === undefined ? totalsOf(data) : problemSummary(problem);
  });

  part(SUMS_PATH, 'runs:read', sumsOf);
}

async function chooser(visit: Visit): Promise<Html> {
  return html`
    <p>An open item is an amount that payroll still owes or is owed: a correction of an earlier paycheck, a missed paycheck, or an amount that payroll did not take.</p>
    ${await filtersOf(visit, '/open-items', labels.FILTERS.slice(0, 1))}
    <section class="card" aria-labelledby="owing">
      <h2 id="owing">Employers with open items</h2>
      ${later(SUMS_PATH, 'Adding up …')}
      <p class="hint">Employers that are not listed have no open items.</p>
    </section>
  `;
}

/** Lists the next employers that have open items. Adding up the items of one takes as long as computing its run. */
async function sumsOf(visit: Visit): Promise<Html> {
  const { after = '' } = visit.query;
  const left = (await employersOf(visit)).filter((employer_id) => employer_id > after);
  const rows: Html[] = [];
  for (const employer_id of left.slice(0, SUMS_AT_ONCE)) {
    const totals = await visit.api.perform(getOpenItemTotals, { params: { employer_id } });
    const sum = `${counted(totals.items, 'item')} of ${counted(totals.employees, 'employee')}, ${money(totals.outstanding_member_amount)}`;
    const link = nameable('employer', employer_id, idLink(labels.itemsPath({ employer_id }), employer_id));
    if (totals.items > 0) rows.push(html`<li>${link}: ${sum}</li>`);
  }
  const next = left.length > SUMS_AT_ONCE && address(SUMS_PATH, { after: left[SUMS_AT_ONCE - 1] });
  return html`<div>${rows.length > 0 && html`<ul>${rows}</ul>`}${next && later(next, 'Adding up …')}</div>`;
}

async function listOf(visit: Visit, employer_id: string): Promise<Html> {
  const { api, may } = visit;
  const { recorded, ...query } = visit.query;
  const { employer_id: _, ...filters } = filtersIn(query, labels.FILTERS);
  const list = { limit: PAGE_ROWS, cursor: query.cursor, ...filters };
  const call = api.perform(listOpenItems, { params: { employer_id }, query: list });
  const { data: page, problem } = await attempt(call, 400);
  const shown =
    problem !== undefined
      ? problemSummary(problem)
      : page.data.length === 0
        ? empty(page.has_more ? 'No matching items so far' : 'No open items', nothingOf(visit, page.has_more))
        : itemTable(page.data, visit);
  const decides =
    may('runs:write') && (page?.data.length ?? 0) + (query.employee_id === undefined ? 0 : 1) > 0;
  const rows = html`${shown}${pager('/open-items', query, page?.next_cursor ?? null)}`;
  return html`
    ${savedNotice({ saved: recorded }, address('/open-items/decisions', { employer_id }), 'See what was decided', `${counted(Number(recorded), 'decision')} recorded. What stays outstanding is below.`)}
    ${await filtersOf(visit, '/open-items', labels.FILTERS)}
    ${later(address('/open-items/totals', query), 'Adding up …')}
    ${decides ? html`<form id="items" aria-label="Items" novalidate hx-post="/open-items/decide" hx-target="#decision" hx-swap="outerHTML">${(page?.data.length ?? 0) > 0 && SELECT_ALL}${rows}${decisionForm(query)}</form>` : rows}
    <p class="hint">Only paychecks of runs that were finalized here are compared with today’s data. Earlier paychecks have no items, except those that were added as opening items.</p>
    <p><a href=${address('/open-items/decisions', { employer_id })}>Decisions about open items</a></p>
  `;
}

function nothingOf({ query }: Visit, hasMore: boolean): Html {
  if (hasMore) return html`<p>The next page continues the search.</p>`;
  const { employer_id } = query;
  const isFiltered = Object.keys(filtersIn(query, labels.FILTERS)).length > 1;
  return html`<p>${'Amounts that payroll does not take, and corrections of earlier runs, appear here. '}${isFiltered && html`<a href=${labels.itemsPath({ employer_id })}>Show all items of this employer</a>`}</p>`;
}

function totalsOf(totals: Totals): Html {
  if (totals.items === 0) return html`<div></div>`;
  const several = <R>(sums: readonly R[], nameOf: (sum: R) => string) =>
    sums.length > 1 ? sums.map((sum) => ({ ...sum, name: nameOf(sum) })) : [];
  const rows = [
    ...several(totals.by_kind, ({ kind }) => labels.KINDS[kind]),
    { ...totals, name: 'Total' },
    ...several(totals.by_state, (sum) => `Of the total: ${labels.STATES[sum.state].toLowerCase()}`),
  ];
  return html`
    <section aria-labelledby="totals">
      <h2 id="totals">Totals</h2>
      ${table(rows, { caption: 'Totals of open items', captionHidden: true }, [
        ['By kind and state', ({ name }) => name, 'name'],
        ['Items', ({ items }) => count(items), 'number'],
        ['Employees', ({ employees }) => count(employees), 'number'],
        MEMBER_OUTSTANDING,
        EMPLOYER_OUTSTANDING,
      ])}
    </section>
  `;
}

function itemTable(items: readonly Item[], visit: Visit): Html {
  const maySelect = visit.may('runs:write');
  return table(items, { caption: 'Open items', captionHidden: true }, [
    ['Employee', (item) => [maySelect && selectionOf(item), employeeOf(item.employee_id, visit)], 'name'],
    ...itemColumns(items, visit),
  ]);
}

/** Returns the columns of items, without their employee. Employer amounts have a column only if some are not zero. */
export function itemColumns(items: readonly Item[], { may }: Pick<Visit, 'may'>): Column<Item>[] {
  const hasEmployer = items.some((item) => Number(item.outstanding_employer_amount) !== 0);
  return [
    ['Kind', ({ kind }) => labels.KINDS[kind]],
    ['Pay date', payDateOf, 'date'],
    ['Deduction', (item) => labels.deductionOf(item, may)],
    MEMBER_OUTSTANDING,
    ...(hasEmployer ? [EMPLOYER_OUTSTANDING] : []),
    ['State', stateOf],
    ['Explanation', explained, 'wide'],
  ];
}

/** The value of a box has the item and the amounts that the user sees, so that a changed item is noticed. */
function selectionOf({ id, outstanding_member_amount, outstanding_employer_amount, ...item }: Item): Html {
  const value = `${id} ${outstanding_member_amount} ${outstanding_employer_amount}`;
  const name = `${item.employee_id}, ${plain(item.line_of_coverage)}, ${dayText(item.pay_date)}`;
  return html`<input type="checkbox" name=${`item:${id}`} value=${value} aria-label=${`Select ${name}`} /> `;
}

function stateOf({ state: now, needs_decision, reopened }: Item): Html {
  if (now !== 'open') return state(labels.STATES[now]);
  return state(needs_decision || reopened !== null ? 'Needs a decision' : labels.STATES.open, 'warn');
}

function payDateOf({ pay_date, run_id, employee_id }: Item): Html {
  return run_id === null ? dayOf(pay_date) : payDateLink(run_id, pay_date, employee_id);
}

function explained({ id, employer_id, explanation, reopened, decision }: Item): Html {
  const sentences: Content[] = [
    sentence(explanation),
    decision !== null &&
      ` ${labels.decided(decision)}. Decided by ${actorName(decision.decided_by)}: ${decision.reason}.`,
    reopened !== null && ` Open again: ${labels.REOPENED[reopened]}.`,
  ];
  const decisions = address('/open-items/decisions', { employer_id, item_id: id });
  return html`<span>
    ${sentences}${decision !== null && html`<span>${' '}<a href=${decisions}>All decisions</a></span>`}
  </span>`;
}
