/** The form that decides about the selected open items, and what it does. */
import type { ResultOf } from '../../../api/operation.ts';
import { decideOpenItems, previewItemDecisions } from '../../../api/operations/open-items.ts';
import { type ProblemDetails, Refusal } from '../../../api/problem.ts';
import {
  choicesOf,
  filledForm,
  hiddenFields,
  preview,
  problemSummary,
  type Specs,
} from '../../elements/fields.ts';
import { dayOf, money, sentence } from '../../elements/format.ts';
import { idLink, nameable, nameIn, type Query } from '../../elements/links.ts';
import { table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console } from '../../page.ts';
import { attempt } from '../../performing.ts';
import * as labels from './labels.ts';

const SPECS: Specs = {
  action: { label: 'Decision', choices: choicesOf(labels.ACTIONS) },
  ...Object.fromEntries(Object.entries(labels.TERMS).map(([name, { field }]) => [name, field])),
  reason: { label: 'Reason', required: true, hint: 'Stored with each decision. At most 500 characters.' },
};

/** The list's filters. */
const KEPT = labels.FILTERS.map(({ name }) => name);

export function itemActions({ action }: Console): void {
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
  return table(paychecks, { caption: 'Next paychecks with these decisions', stacked: true }, [
    ['Employee', ({ employee_id }) => nameable('employee', employee_id, idLink(null, employee_id)), 'name'],
    ['Pay date', ({ pay_date }) => (pay_date === null ? 'No paycheck' : dayOf(pay_date)), 'date'],
    ['Employee amount now', ({ before }) => money(before.member_amount), 'number'],
    ['With the decisions', ({ after }) => money(after.member_amount), 'number'],
    [
      'Items taken',
      ({ item_lines }) => item_lines.map(({ explanation }) => html`<p>${sentence(explanation)}</p>`),
      'wide',
    ],
    [
      'Items left out',
      ({ left_out }) => left_out.map(({ explanation }) => html`<p>${sentence(explanation)}</p>`),
      'wide',
    ],
  ]);
}

/** Returns the decisions of a form: about each selected item, or about the employee. */
function decisionsOf(form: Query): object[] {
  const { action = '', hold_employee } = form;
  // The stylesheet hides the terms of other actions.
  const terms = Object.entries(labels.TERMS).filter(([, term]) => term.action === action);
  const fields = { action, ...Object.fromEntries(terms.map(([name]) => [name, form[name]])) };
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
  const wholeEmployee =
    employee_id !== undefined &&
    html`
    <div class="field">
      <label><input type="checkbox" name="hold_employee" value=${employee_id} /> Hold all items of ${nameIn('employee', employee_id)}, also later ones</label>
    </div>
  `;
  return html`
    <fieldset id="decision" class="card">
      <legend>Decide about the selected items</legend>
      ${summary}
      ${hiddenFields(back)}
      ${wholeEmployee}
      <div class="fields">${Object.keys(SPECS).map(fieldOf)}</div>
      <div class="actions">
        <button type="submit">Record the decisions</button>
      </div>
      ${preview('items', '/open-items/preview', NOTHING_SELECTED)}
    </fieldset>
  `;
}
