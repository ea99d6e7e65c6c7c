/** Overrides of an open run: their list on the page of the run, and the form that sets or removes one. */
import type { ResultOf } from '../../../api/operation.ts';
import {
  listPayrollRunOverrides,
  overridePayrollRunLine,
  removePayrollRunOverride,
} from '../../../api/operations/payroll-run-overrides.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { amountOf, centsOf } from '../../../money.ts';
import { state } from '../../elements/facts.ts';
import {
  filledForm,
  hiddenFields,
  meantAmount,
  plainAmount,
  preview,
  reasonSpec,
  type Specs,
} from '../../elements/fields.ts';
import { actorName, counted, difference, money, term } from '../../elements/format.ts';
import { address, idLink, named, overridePath, runEmployeeLink, runPath } from '../../elements/links.ts';
import { AMOUNT_COLUMNS, table } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { employeeFinder } from '../../search.ts';
import { changeName, type Line, type Run } from './labels.ts';
import { readLines } from './paycheck-lines.ts';
import { pageOfRun } from './state.ts';

type Override = ResultOf<typeof listPayrollRunOverrides>['overrides'][number];

const SIDES = { member_amount: 'Employee amount', employer_amount: 'Employer amount' } as const;
const SIDE_NAMES = Object.keys(SIDES) as (keyof typeof SIDES)[];

export function overridePages(pages: Console): void {
  const { action } = pages;
  pageOfRun(pages, '/override', 'runs:write', async (visit, run) => ({
    title: 'Override an amount:',
    body:
      run.state === 'open'
        ? await overriding(visit, run)
        : html`<p>${`This run is ${run.state}, so its amounts stay as they are.`}</p>`,
  }));

  action('/runs/:run_id/override', 'runs:write', async (act) => {
    const { api, params, form } = act;
    const { run_id = '' } = params;
    const { employee_id = '', deduction_id = '', member_amount, employer_amount, reason } = form;
    const call = api.perform(overridePayrollRunLine, {
      params: { employee_id, deduction_id },
      body: {
        member_amount: plainAmount(member_amount),
        employer_amount: plainAmount(employer_amount),
        reason,
      },
    });
    const { problem } = await attempt(call, 400, 404, 409, 422);
    return problem === undefined
      ? backToLines(run_id, employee_id)
      : overrideForm(run_id, form, await regularLines(act, employee_id), problem);
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

/** Renders the form for the deduction in the address. Without it, the user chooses the employee or the line first. */
async function overriding(visit: Visit, { id, employer_id }: Run): Promise<Html> {
  const { employee_id, deduction_id } = visit.query;
  if (employee_id === undefined) return employeeFinder(employer_id, overridePath(id), 'Choose a line');
  const { overrides } = await visit.api.perform(listPayrollRunOverrides);
  const known = overrides.find(
    (override) => override.employee_id === employee_id && override.deduction_id === deduction_id,
  );
  const lines = await regularLines(visit, employee_id);
  return html`
    ${deduction_id === undefined && lineChoices(id, lines)}
    ${overrideForm(id, { ...visit.query, ...known }, lines)}
    ${known !== undefined && removal(id, known)}
  `;
}

/** Returns the regular lines of an employee; none without an employee, or in a run that cannot be computed. */
async function regularLines(visit: Visit, employee_id = ''): Promise<readonly Line[]> {
  if (employee_id === '') return [];
  return (await attempt(readLines(visit, { employee_id, kind: 'regular' }), 400, 422)).data ?? [];
}

function lineIn(lines: readonly Line[], deduction_id: unknown): Line | undefined {
  return lines.find((line) => line.deduction_id === deduction_id);
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
  const line = lineIn(lines, typed.deduction_id);
  const rows = SIDE_NAMES.flatMap((side) => {
    const amount = meantAmount(typed[side]);
    return amount === null ? [] : [{ side, amount, regular: line?.[side] ?? '0.00' }];
  });
  if (rows.length === 0) return html`<p class="hint">The changes appear here once an amount is entered.</p>`;
  return table(rows, { caption: 'What changes' }, [
    ['Amount', ({ side }) => SIDES[side], 'name'],
    ['In the run now', ({ regular }) => money(regular), 'number'],
    ['With the override', ({ amount }) => money(amountOf(amount)), 'number'],
    ['Difference', ({ amount, regular }) => difference(amountOf(amount - centsOf(regular))), 'number'],
  ]);
}

/** Returns the fields of the form. The hint of each amount shows what the line has now. */
function specsOf(line: Line | undefined): Specs {
  const amounts = SIDE_NAMES.map((side): [string, Specs[string]] => {
    const hint = line && { hint: `${money(line[side])} in the run now.` };
    return [side, { label: SIDES[side], required: true, size: 12, ...hint }];
  });
  return {
    deduction_id: {
      label: 'Deduction ID',
      required: true,
      hint: 'Also a deduction that has no amount in this run yet.',
    },
    ...Object.fromEntries(amounts),
    reason: reasonSpec('Stored with the run.'),
  };
}

function overrideForm(
  runId: string,
  typed: Readonly<Record<string, unknown>>,
  lines: readonly Line[],
  problem?: ProblemDetails,
): Html {
  const specs = specsOf(lineIn(lines, typed.deduction_id));
  const { summary, fieldOf } = filledForm(specs, typed, problem);
  return html`
    <form id="override" class="card" aria-label="Override" novalidate hx-post=${overridePath(runId)} hx-target="this" hx-swap="outerHTML">
      ${summary}
      <p>Employee: ${named('employee', String(typed.employee_id))}</p>
      ${hiddenFields({ employee_id: String(typed.employee_id) })}
      <p>The paycheck takes these amounts instead of the regular ones. Later paychecks take the regular amounts again, and nothing collects the difference.</p>
      ${Object.keys(specs).map(fieldOf)}
      ${preview('override', runPath(runId, '/override/preview'))}
      <button type="submit">Override the amounts</button>
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
      <p class="hint">${`When the override was set, the paycheck had ${without} without it.`}</p>
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
