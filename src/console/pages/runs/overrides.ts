/** Overrides of an open run: their list on the page of the run, and the form that sets or removes one. */
import type { ResultOf } from '../../../api/operation.ts';
import { listPayrollRunLines } from '../../../api/operations/payroll-run-lines.ts';
import {
  listPayrollRunOverrides,
  overridePayrollRunLine,
  removePayrollRunOverride,
} from '../../../api/operations/payroll-run-overrides.ts';
import { getPayrollRunOutline } from '../../../api/operations/payroll-runs.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { amountOf, centsOf } from '../../../money.ts';
import { state } from '../../elements/facts.ts';
import { filledForm, hiddenFields, meantAmount, preview, type Specs } from '../../elements/fields.ts';
import { actorName, counted, difference, money, term } from '../../elements/format.ts';
import { address, idLink, named, runEmployeeLink, runPath } from '../../elements/links.ts';
import { AMOUNT_COLUMNS, table } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { employeeFinder } from '../../search.ts';
import { changeName, type Line, nameOf, type Run } from './labels.ts';

type Override = ResultOf<typeof listPayrollRunOverrides>['overrides'][number];

/** Lines of one paycheck: deductions of an employee. */
const LINES_OF_PAYCHECK = 1_000;

const SPECS: Specs = {
  deduction_id: {
    label: 'Deduction ID',
    required: true,
    hint: 'Also a deduction that has no amount in this run yet.',
  },
  member_amount: { label: 'Employee amount', required: true, size: 12 },
  employer_amount: { label: 'Employer amount', required: true, size: 12 },
  reason: { label: 'Reason', required: true, hint: 'Stored with the run. At most 500 characters.' },
};

export function overridePages({ page, action }: Console): void {
  page('/runs/:run_id/override', 'runs:write', async (visit) => {
    const run = await visit.api.perform(getPayrollRunOutline);
    const { id, state } = run;
    const title = html`Override an amount: ${nameOf(run)}`;
    if (state !== 'open') {
      const body = html`<p>${`This run is ${state}, so its amounts stay as they are. `}<a href=${runPath(id)}>Back to the run</a></p>`;
      return { title, body };
    }
    const { overrides } = await visit.api.perform(listPayrollRunOverrides);
    const { employee_id, deduction_id } = visit.query;
    const known = overrides.find(
      (override) => override.employee_id === employee_id && override.deduction_id === deduction_id,
    );
    if (employee_id === undefined)
      return { title, body: employeeFinder(run.employer_id, runPath(id, '/override'), 'Choose a line') };
    const lines = await regularLines(visit, employee_id);
    const body = html`
      ${deduction_id === undefined && lineChoices(id, lines)}
      ${overrideForm(id, { ...visit.query, ...known }, hintsOf(lines, deduction_id))}
      ${known !== undefined && removal(id, known)}
    `;
    return { title, body };
  });

  action('/runs/:run_id/override', 'runs:write', async (act) => {
    const { api, params, form } = act;
    const { run_id = '' } = params;
    const { employee_id = '', deduction_id = '', ...typed } = form;
    const { member_amount = '', employer_amount = '', reason = '' } = typed;
    const call = api.perform(overridePayrollRunLine, {
      params: { employee_id, deduction_id },
      body: { member_amount, employer_amount, reason },
    });
    const { problem } = await attempt(call, 400, 404, 409, 422);
    if (problem === undefined) return backToLines(run_id, employee_id);
    return overrideForm(run_id, form, hintsOf(await regularLines(act, employee_id), deduction_id), problem);
  });

  action('/runs/:run_id/override/preview', 'runs:write', async (act) =>
    overridden(act.form, await regularLines(act, act.form.employee_id)),
  );

  action('/runs/:run_id/remove-override', 'runs:write', async ({ api, params: { run_id = '' }, query }) => {
    const { employee_id = '', deduction_id = '' } = query;
    await api.perform(removePayrollRunOverride, { params: { employee_id, deduction_id } });
    return backToLines(run_id, employee_id);
  });
}

function backToLines(runId: string, employee_id: string) {
  return { go: `${address(runPath(runId), { employee_id, saved: 'true' })}#lines` };
}

/** Returns the regular lines of an employee; none without an employee, or in a run that cannot be computed. */
async function regularLines({ api }: Pick<Visit, 'api'>, employee_id = ''): Promise<readonly Line[]> {
  if (employee_id === '') return [];
  const list = { employee_id, kind: 'regular', limit: LINES_OF_PAYCHECK };
  const { data } = await attempt(api.perform(listPayrollRunLines, { query: list }), 400, 422);
  return data?.data ?? [];
}

function lineChoices(runId: string, lines: readonly Line[]): Html | null {
  if (lines.length === 0) return null;
  return table(lines, { caption: 'Choose the line to override' }, [
    ['Line of coverage', ({ line_of_coverage }) => term(line_of_coverage), 'name'],
    [
      'Deduction',
      ({ employee_id, deduction_id }) =>
        idLink(overridePath(runId, { employee_id, deduction_id }), deduction_id),
    ],
    ['Since the previous run', ({ change }) => change !== null && state(changeName(change))],
    ...AMOUNT_COLUMNS,
  ]);
}

function overridden(typed: Visit['query'], lines: readonly Line[]): Html {
  const line = lines.find((candidate) => candidate.deduction_id === typed.deduction_id);
  const sides = [
    ['Employee amount', typed.member_amount, line?.member_amount],
    ['Employer amount', typed.employer_amount, line?.employer_amount],
  ] as const;
  const rows = sides.flatMap(([side, text, regular = '0.00']) => {
    const amount = meantAmount(text);
    return amount === null ? [] : [{ side, amount, regular }];
  });
  if (rows.length === 0)
    return html`<p class="hint">What changes appears here once an amount is entered.</p>`;
  return table(rows, { caption: 'What changes' }, [
    ['Amount', ({ side }) => side, 'name'],
    ['In the run now', ({ regular }) => money(regular), 'number'],
    ['With the override', ({ amount }) => money(amountOf(amount)), 'number'],
    ['Difference', ({ amount, regular }) => difference(amountOf(amount - centsOf(regular))), 'number'],
  ]);
}

/** Returns the amounts that the paycheck has now, as hints of the fields; empty without a line of the deduction. */
function hintsOf(lines: readonly Line[], deduction_id: string | undefined): Readonly<Record<string, string>> {
  const line = lines.find((candidate) => candidate.deduction_id === deduction_id);
  if (line === undefined) return {};
  const hintOf = (amount: string | null) => `${money(amount)} in the run now.`;
  return { member_amount: hintOf(line.member_amount), employer_amount: hintOf(line.employer_amount) };
}

function overrideForm(
  runId: string,
  typed: Readonly<Record<string, unknown>>,
  hints: Readonly<Record<string, string>>,
  problem?: ProblemDetails,
): Html {
  const specs = Object.fromEntries(
    Object.entries(SPECS).map(([name, spec]) => [
      name,
      hints[name] === undefined ? spec : { ...spec, hint: hints[name] },
    ]),
  );
  const { summary, fieldOf } = filledForm(specs, typed, problem);
  return html`
    <form id="override" class="card" aria-label="Override" novalidate hx-post=${runPath(runId, '/override')} hx-target="this" hx-swap="outerHTML">
      ${summary}
      <p>Employee: ${named('employee', String(typed.employee_id))}</p>
      ${hiddenFields({ employee_id: String(typed.employee_id) })}
      <p>The paycheck takes these amounts instead of the regular ones. Later paychecks take the regular amounts again, and nothing collects the difference.</p>
      ${Object.keys(SPECS).map(fieldOf)}
      ${preview('override', runPath(runId, '/override/preview'))}
      <div class="actions">
        <button type="submit">Override the amounts</button>
        <a class="button quiet" href=${runPath(runId)}>Back to the run</a>
      </div>
    </form>
  `;
}

function removal(
  runId: string,
  { employee_id, deduction_id, regular_member_amount: regular }: Override,
): Html {
  const path = address(runPath(runId, '/remove-override'), { employee_id, deduction_id });
  const without = regular === null ? 'no line' : `an employee amount of ${money(regular)}`;
  return html`
    <form class="decision" hx-post=${path}>
      <button type="submit" class="quiet">Remove the override</button>
      <p class="hint">${`When it was set, the paycheck had ${without} without it.`}</p>
    </form>
  `;
}

/** Lists the overrides of a run, folded. Null without one. */
export async function overridesOf(
  { api, may }: Visit,
  { id, state }: Pick<Run, 'id' | 'state'>,
): Promise<Content> {
  const { overrides } = await api.perform(listPayrollRunOverrides);
  if (overrides.length === 0) return null;
  const isEditable = state === 'open' && may('runs:write');
  const list = table(overrides, { caption: 'Overrides', captionHidden: true }, [
    ['Employee', ({ employee_id }) => runEmployeeLink(id, employee_id), 'name'],
    [
      'Deduction',
      ({ employee_id, deduction_id }) =>
        idLink(isEditable ? overridePath(id, { employee_id, deduction_id }) : null, deduction_id),
    ],
    ['Regular amount', ({ regular_member_amount }) => money(regular_member_amount), 'number'],
    ...AMOUNT_COLUMNS,
    ['By', ({ created_by }) => actorName(created_by)],
    ['Reason', ({ reason }) => reason, 'wide'],
  ]);
  return html`<details><summary>${counted(overrides.length, 'override')}</summary>${list}</details>`;
}

/** Returns the address of the form for a deduction, or for any deduction of an employee. */
export function overridePath(
  runId: string,
  deduction: Partial<Record<'employee_id' | 'deduction_id', string | undefined>>,
): string {
  return address(runPath(runId, '/override'), deduction);
}
