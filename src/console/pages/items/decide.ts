/** Decisions about open items: the form about the selected ones, what it does, and what was decided. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import {
  decideOpenItems,
  listItemDecisions,
  previewItemDecisions,
} from '../../../api/operations/open-items.ts';
import { type ProblemDetails, Refusal } from '../../../api/problem.ts';
import { empty } from '../../elements/facts.ts';
import {
  choicesOf,
  filledForm,
  hiddenFields,
  plainAmount,
  preview,
  problemSummary,
  reasonSpec,
  type Specs,
} from '../../elements/fields.ts';
import { actorName, dayOf, instant, money, sentence } from '../../elements/format.ts';
import { employeeOf, idLink, nameable, nameIn, type Query, runLink } from '../../elements/links.ts';
import { PAGE_ROWS, pager, table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import * as labels from './labels.ts';

const SPECS: Specs = {
  action: { label: 'Decision', choices: choicesOf(labels.ACTIONS) },
  ...Object.fromEntries(Object.entries(labels.TERMS).map(([name, { field }]) => [name, field])),
  reason: reasonSpec('Stored with each decision.'),
};

const KEPT = labels.FILTERS.map(({ name }) => name);

export function itemActions({ page, action }: Console): void {
  page(PATH, 'runs:read', async (visit) => ({
    title: visit.query.item_id === undefined ? 'Decisions about open items' : 'Decisions about an open item',
    body: await listOf(visit),
  }));

  action('/open-items/preview', 'runs:write', async ({ api, form }) => {
    if (form.hold_employee === undefined && selectedIn(form).length === 0) return NOTHING_SELECTED;
    const call = api.perform(previewItemDecisions, {
      params: { employer_id: form.back_employer_id },
      // A preview needs no reason.
      body: { decisions: decisionsOf(form), reason: form.reason ?? 'preview' },
    });
    const { data, problem } = await attempt(call, 400, 409, 422);
    return problem === undefined ? previewOf(data.paychecks) : problemSummary(ofFields(problem));
  });

  action('/open-items/decide', 'runs:write', async ({ api, form }) => {
    const kept = Object.fromEntries(KEPT.map((name) => [name, form[`back_${name}`]]));
    const call = api.perform(decideOpenItems, {
      params: { employer_id: kept.employer_id },
      body: { decisions: decisionsOf(form), reason: form.reason ?? '' },
    });
    const { data, problem } = await attempt(call, 400, 409, 422);
    return problem === undefined
      ? { go: labels.itemsPath({ ...kept, recorded: String(data.decision_ids.length) }) }
      : decisionForm({ ...kept, ...form }, ofFields(problem));
  });
}

/** Names the field of the form instead of the place in the list of decisions, each problem once. */
function ofFields(problem: ProblemDetails): ProblemDetails {
  const named = (problem.errors ?? []).map(({ path, rule }) => {
    return { path: path.replace(/^decisions\[\d+\]\./, ''), rule: sentence(rule) };
  });
  const errors = [...new Map(named.map((error) => [`${error.path} ${error.rule}`, error])).values()];
  return { ...problem, errors, error_count: errors.length };
}

/** Shows what the decisions would do to the next paycheck of each employee. */
function previewOf(paychecks: ResultOf<typeof previewItemDecisions>['paychecks']): Html {
  return table(paychecks, { caption: 'Next paychecks with these decisions' }, [
    ['Employee', ({ employee_id }) => nameable('employee', employee_id, idLink(null, employee_id)), 'name'],
    ['Pay date', ({ pay_date }) => (pay_date === null ? 'No paycheck' : dayOf(pay_date)), 'date'],
    ['Employee amount now', ({ before }) => money(before.member_amount), 'number'],
    ['With the decisions', ({ after }) => money(after.member_amount), 'number'],
    ['Items taken', ({ item_lines }) => item_lines.map(explained), 'wide'],
    ['Items left out', ({ left_out }) => left_out.map(explained), 'wide'],
  ]);
}

function explained({ explanation }: { readonly explanation: string }): Html {
  return html`<p>${sentence(explanation)}</p>`;
}

function decisionsOf(form: Query): object[] {
  const { action = '', hold_employee } = form;
  // The stylesheet hides the terms of other actions.
  const terms = Object.entries(labels.TERMS).filter(([, term]) => term.action === action);
  const typed: Query = { ...form, amount: plainAmount(form.amount) };
  const fields = { action, ...Object.fromEntries(terms.map(([name]) => [name, typed[name]])) };
  if (hold_employee !== undefined) return [{ employee_id: hold_employee, ...fields }];
  const selected = selectedIn(form);
  if (selected.length === 0) throw new Refusal('INVALID_REQUEST', 'Select at least one item.');
  return selected.map((value) => {
    const [item_id, outstanding_member_amount, outstanding_employer_amount] = value.split(' ');
    return { item_id, outstanding_member_amount, outstanding_employer_amount, ...fields };
  });
}

function selectedIn(form: Query): string[] {
  return Object.entries(form).flatMap(([name, value]) => (name.startsWith('item:') ? [value ?? ''] : []));
}

const NOTHING_SELECTED = html`<p class="hint">Select items to see the next paychecks with the decision.</p>`;

/** Returns the part of the list's form with the decision. `typed`: the filters of the list, and what the user entered. */
export function decisionForm(typed: Query, problem?: ProblemDetails): Html {
  const { employee_id } = typed;
  const back = Object.fromEntries(KEPT.map((name) => [`back_${name}`, typed[name]]));
  const { summary, fieldOf } = filledForm(SPECS, typed, problem);
  return html`
    <fieldset id="decision" class="card">
      <legend>Decide about the selected items</legend>
      ${summary}
      ${hiddenFields(back)}
      ${employee_id !== undefined && html`<div class="field"><label><input type="checkbox" name="hold_employee" value=${employee_id} /> Hold all items of ${nameIn('employee', employee_id)}, also later ones</label></div>`}
      <div class="fields">${Object.keys(SPECS).map(fieldOf)}</div>
      <div class="actions">
        <button type="submit">Record the decisions</button>
      </div>
      ${preview('items', '/open-items/preview', NOTHING_SELECTED)}
    </fieldset>
  `;
}

type Listed = RowOf<typeof listItemDecisions>;

const PATH = '/open-items/decisions';

async function listOf(visit: Visit): Promise<Html> {
  const { api, query } = visit;
  const { employer_id = '', item_id, employee_id, cursor } = query;
  const list = { limit: PAGE_ROWS, cursor, item_id, employee_id };
  const call = api.perform(listItemDecisions, { params: { employer_id }, query: list });
  const { data: decisions, problem } = await attempt(call, 400);
  if (problem !== undefined) return problemSummary(problem);
  const shown = table(decisions.data, { caption: 'Decisions', captionHidden: true }, [
    ['Employee', (decision) => employeeOf(decision.employee_id, visit), 'name'],
    ['Item', (decision) => itemOf(decision, visit), 'wide'],
    ['Decided', ({ decided_at }) => instant(decided_at), 'date'],
    ['By', ({ decided_by }) => actorName(decided_by)],
    ['Decision', labels.decided, 'wide'],
    ['Reason', ({ reason }) => reason, 'wide'],
  ]);
  return html`
    <p><a href=${labels.itemsPath({ employer_id })}>Open items of ${nameIn('employer', employer_id)}</a></p>
    ${decisions.data.length === 0 ? empty('No decisions') : shown}
    ${pager(PATH, query, decisions.next_cursor)}
  `;
}

function itemOf({ kind, line_of_coverage, taxability, deduction_id, run_id }: Listed, { may }: Visit): Html {
  if (kind === null || line_of_coverage === null || taxability === null)
    return html`<span>All items of the employee</span>`;
  const deduction = labels.deductionOf({ line_of_coverage, taxability, deduction_id }, may);
  return html`<span>${labels.KINDS[kind]}${': '}${deduction}${run_id !== null && [', run ', runLink(run_id)]}</span>`;
}
