/** A new off-cycle run in words: its employees, their deductions, and what is owed to them. Its amounts are shown before it is saved. */
import type { ResultOf } from '../../../api/operation.ts';
import { getEmployee } from '../../../api/operations/employees.ts';
import {
  previewPayrollRun,
  putPayrollRun,
  RUN_BYTES_MAX,
} from '../../../api/operations/payroll-run-creation.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import {
  choicesOf,
  filledForm,
  hiddenFields,
  idsIn,
  preview,
  problemSummary,
  type Specs,
} from '../../elements/fields.ts';
import { capitalized, dayText, money, plain } from '../../elements/format.ts';
import { address, fitsPath, idLink, nameable, type Query, runPath } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Act, Console, Done, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { employeesFound } from '../../search.ts';
import { EMPLOYER_FILTER, filtersOf } from '../employers.ts';
import { type Item, itemsPath, KINDS } from '../items/labels.ts';
import { amountWords, coverageWords, type Deduction, spanOf, spanWords } from '../ledger/terms.ts';
import { policiesOf, scheduleYearsOf } from '../settings/overview.ts';
import { FREQUENCIES, RUN_KINDS } from './labels.ts';
import { previewOf } from './totals.ts';

type Employee = ResultOf<typeof getEmployee>;

const PATH = '/runs/new';
/** Runs of one employer and pay date, to find a free id. */
const RUNS_OF_DATE = 20;
/** Prefixes of fields, each followed by an id. */
const [EMPLOYEE, DEDUCTION, ITEM] = ['employee:', 'deduction:', 'item:'];

const BASICS: Specs = {
  pay_date: {
    label: 'Pay date',
    type: 'date',
    required: true,
    hint: 'The date employees are paid. It decides the tax year.',
  },
};
const MORE: Specs = {
  kind: { label: 'Kind', choices: RUN_KINDS },
  run_id: { label: 'Run ID', hint: 'Named after the employer and the pay date if empty.' },
  pay_frequency: {
    label: 'Pay frequency',
    choices: choicesOf({ '': 'That of the employees', ...FREQUENCIES }),
  },
  pay_group: { label: 'Pay group', hint: 'Empty for all pay groups.' },
  period_start: {
    label: 'Pay period start',
    type: 'date',
    hint: 'By default, the scheduled pay period of the pay date.',
  },
  period_end: { label: 'Pay period end', type: 'date' },
  final_checks: {
    label: 'Final paychecks',
    rows: 3,
    hint: 'IDs of employees who left and get a final paycheck, one per line. It takes the rest of the month in which they left.',
  },
};
const ADD: Specs = { add: { label: 'Add an employee, by name or ID', size: 32 } };

export function newRunPages({ page, action }: Console): void {
  page(PATH, 'runs:write', async (visit) => {
    const { employer_id, employee_id } = visit.query;
    const body =
      employer_id === undefined
        ? await filtersOf(visit, PATH, [{ ...EMPLOYER_FILTER, required: true }])
        : employee_id === undefined
          ? await runForm(visit, await draftOf(visit, visit.query))
          : await withEmployee(visit, { ...visit.query, add: employee_id });
    return { title: 'New off-cycle run', body };
  });

  const limit = { bodyLimit: RUN_BYTES_MAX };
  action(
    `${PATH}/preview`,
    'runs:write',
    async (act) => previewFor(act, await draftOf(act, act.form)),
    limit,
  );
  action(PATH, 'runs:write', changedOrSaved, limit);
}

/** What was typed, with the employees that it names and the payroll policy of its pay date. */
type Draft = {
  readonly typed: Query;
  /** By ID; null for an ID that no employee of the employer has. */
  readonly employees: ReadonlyMap<string, Employee | null>;
  /** Whether the payroll policy takes items without a decision. */
  readonly isIncluding: boolean;
};

async function draftOf(visit: Visit, typed: Query): Promise<Draft> {
  const { employer_id = '', pay_date = visit.today } = typed;
  const employees = new Map<string, Employee | null>();
  for (const id of idsIn(typed, EMPLOYEE)) employees.set(id, await read(visit, id, employer_id));
  const versions = await policiesOf(visit.api, employer_id);
  const policy = versions.find(({ effective_from }) => effective_from <= pay_date);
  return { typed, employees, isIncluding: policy?.open_items === 'include' };
}

async function changedOrSaved(act: Act): Promise<Html | Done> {
  const { do: command = '', ...typed } = act.form;
  if (command === 'add' || (command !== 'save' && typed.add !== undefined)) return withEmployee(act, typed);
  if (command !== 'save') {
    const { [EMPLOYEE + command]: _, ...others } = typed;
    return runForm(act, await draftOf(act, others));
  }
  const draft = await draftOf(act, typed);
  const body = await bodyOf(act, draft);
  const typedId = typed.run_id?.trim();
  const base = `${typed.employer_id}-off-cycle-${typed.pay_date}`.replaceAll(/[^A-Za-z0-9._-]+/g, '-');
  for (let place = 1; place <= RUNS_OF_DATE; place += 1) {
    const run_id = typedId ?? (place === 1 ? base : `${base}-${place}`);
    if (!fitsPath(run_id)) break;
    const call = act.api.perform(putPayrollRun, { params: { run_id }, body });
    const { problem } = await attempt(call, 400, 409, 422);
    if (problem === undefined) return { go: address(runPath(run_id), { saved: 'true' }) };
    if (problem.status !== 409) return runForm(act, draft, problem);
  }
  const taken = { path: 'run_id', rule: 'is taken by another run: choose another ID' };
  return runForm(act, draft, { type: '', title: 'The run cannot be saved', status: 409, errors: [taken] });
}

/** Adds the employee that was typed, with everything that is owed to them. */
async function withEmployee(visit: Visit, { add = '', ...typed }: Query): Promise<Html> {
  const draft = await draftOf(visit, typed);
  const { employer_id = '' } = typed;
  const employee = (await read(visit, add.trim(), employer_id)) ?? (await named(visit, add, employer_id));
  if (employee === null) {
    const unknown = { path: 'add', rule: 'matches no employee of this employer, or several' };
    const problem = { type: '', title: 'Check the employee', status: 404, errors: [unknown] };
    return runForm(visit, { ...draft, typed: { ...typed, add } }, problem);
  }
  const takeable = owedTo(employee, typed).filter((item) => isTakeable(item, draft));
  const selected = Object.fromEntries(takeable.map(({ id }) => [ITEM + id, 'yes']));
  return runForm(visit, {
    ...draft,
    typed: { ...typed, ...selected, [EMPLOYEE + employee.id]: 'yes' },
    employees: new Map([...draft.employees, [employee.id, employee]]),
  });
}

async function read({ api }: Visit, employee_id: string, employer_id: string): Promise<Employee | null> {
  if (employee_id === '' || !fitsPath(employee_id)) return null;
  const { data } = await attempt(api.perform(getEmployee, { params: { employee_id } }), 400, 404);
  return data?.employments.some((employment) => employment.employer_id === employer_id) ? data : null;
}

/** Returns the only employee of the employer whose name begins like this, or null. */
async function named(visit: Visit, text: string, employer_id: string): Promise<Employee | null> {
  const [match, ...more] = await employeesFound(visit, text, employer_id);
  return match === undefined || more.length > 0 ? null : read(visit, match.employee_id, employer_id);
}

function owedTo({ open_items = [] }: Employee, { employer_id }: Query) {
  return open_items.filter((item) => item.employer_id === employer_id);
}

function isTakeable({ state, needs_decision }: Item, { isIncluding }: Draft): boolean {
  return state === 'take' || (isIncluding && state === 'open' && !needs_decision);
}

/** Builds the API's request body. The first employee and the schedule fill in what the form leaves empty. */
async function bodyOf({ api }: Visit, { typed, employees }: Draft): Promise<object> {
  const { employer_id = '', pay_date, kind = 'off_cycle' } = typed;
  const deductions = idsIn(typed, DEDUCTION);
  const [first] = employees.values();
  const employment = first?.employments.find((candidate) => candidate.employer_id === employer_id);
  const pay_frequency = typed.pay_frequency ?? employment?.pay_frequency ?? 'biweekly';
  const schedules = (await scheduleYearsOf(api, employer_id)).flatMap((year) => year.schedules);
  const period = schedules
    .filter((schedule) => schedule.pay_frequency === pay_frequency)
    .flatMap(({ pay_dates }) => pay_dates)
    .find(({ period_start, period_end }) => isWithin(pay_date, period_start, period_end));
  const final_checks = (typed.final_checks ?? '').split(/\r?\n/).filter((id) => id.trim() !== '');
  return {
    employer_id,
    pay_frequency,
    pay_date,
    kind,
    period_start: typed.period_start ?? period?.period_start ?? pay_date,
    period_end: typed.period_end ?? period?.period_end ?? pay_date,
    ...(typed.pay_group !== undefined && { pay_group: typed.pay_group }),
    ...(final_checks.length > 0 && { final_checks }),
    ...(employees.size > 0 && { employee_ids: [...employees.keys()] }),
    ...(deductions.length > 0 && { deductions }),
    // Without the field, a run takes all items of its employees.
    ...(kind === 'off_cycle' && { items: idsIn(typed, ITEM) }),
  };
}

function isWithin(day = '', from: string, until: string): boolean {
  return from <= day && day <= until;
}

/** Shows what the run would take; nothing until it has a pay date and an employee. */
async function previewFor(visit: Visit, draft: Draft): Promise<Html> {
  if (draft.typed.pay_date === undefined || draft.employees.size === 0)
    return html`<p class="hint">Its amounts appear here once it has a pay date and an employee.</p>`;
  const call = visit.api.perform(previewPayrollRun, { body: await bodyOf(visit, draft) });
  const { data, problem } = await attempt(call, 400, 409, 422);
  return problem === undefined ? previewOf(data, visit) : problemSummary(problem);
}

async function runForm(visit: Visit, draft: Draft, problem?: ProblemDetails): Promise<Html> {
  const { typed, employees } = draft;
  const { employer_id = '' } = typed;
  const specs = { ...BASICS, ...ADD, ...MORE };
  const { summary, isWrong, fieldOf } = filledForm(specs, { kind: 'off_cycle', ...typed }, problem);
  const names = Object.keys(MORE);
  const isOpen = names.some((name) => isWrong(name) || typed[name] !== undefined);
  return html`
    <form id="run-form" class="long" novalidate hx-post=${PATH} hx-target="this" hx-swap="outerHTML" hx-config="timeout:600s">
      ${summary}
      ${hiddenFields({ employer_id })}
      <section class="card" aria-label="Paycheck">
        <p>Employer: ${nameable('employer', employer_id, idLink(null, employer_id))}</p>
        ${fieldOf('pay_date')}
        <div class="fields">
          ${fieldOf('add')}
          <button type="submit" class="quiet" name="do" value="add">Add</button>
        </div>
      </section>
      ${[...employees].map(([id, employee]) => employeeCard(id, employee, draft))}
      <details class="card rare" open=${isOpen}>
        <summary>More</summary>
        <div class="columns">${names.map(fieldOf)}</div>
      </details>
      ${preview('run-form', `${PATH}/preview`, await previewFor(visit, draft))}
      <div class="actions">
        <button type="submit" name="do" value="save">Create the run</button>
        <span class="hint">It stays open and up to date until you finalize or delete it.</span>
        <span class="busy soft" role="status">Computing …</span>
      </div>
    </form>
  `;
}

/** Renders an employee with a box for each deduction, and for each amount that is owed. */
function employeeCard(id: string, employee: Employee | null, draft: Draft): Html {
  const { typed } = draft;
  const deductions = (employee?.deductions.data ?? []).filter((deduction) => {
    const { until } = spanOf(deduction);
    return until === null || until >= (typed.pay_date ?? '');
  });
  const box = (name: string, label: Content) => html`
    <p class="one"><input type="checkbox" id=${name} name=${name} value="yes" checked=${typed[name] !== undefined} /> <label for=${name}>${label}</label></p>
  `;
  const items = employee === null ? [] : owedTo(employee, typed);
  const takeable = items.filter((item) => isTakeable(item, draft));
  const undecided = items.filter((item) => !isTakeable(item, draft));
  const { employer_id } = typed;
  return html`
    <fieldset class="card">
      <legend>${nameable('employee', id, idLink(null, id))}</legend>
      <input type="hidden" name=${EMPLOYEE + id} value="yes" />
      ${deductions.length > 0 && html`<p class="soft">Select the deductions that this paycheck takes.</p>`}
      ${deductions.map((deduction) => box(DEDUCTION + deduction.id, labelOf(deduction)))}
      <p class="soft">${items.length > 0 ? 'Select what it takes from earlier paychecks.' : 'Nothing is open from earlier paychecks.'}</p>
      ${takeable.map((item) => box(ITEM + item.id, owedText(item)))}
      ${undecided.map((item) => html`<p>${owedText(item)}${'. '}<a href=${itemsPath({ employer_id, employee_id: id })} target="_blank">Decide about it first</a></p>`)}
      <button type="submit" class="quiet" name="do" value=${id} aria-label=${`Remove ${id}`}>Remove</button>
    </fieldset>
  `;
}

/** Renders the coverage first, because the boxes of an employee differ in it. */
function labelOf(deduction: Deduction): Html {
  const terms = [plain(deduction.taxability), amountWords(deduction), spanWords(spanOf(deduction))];
  return html`<span><strong>${capitalized(coverageWords(deduction))}</strong>${`, ${terms.join(', ')}`}</span>`;
}

function owedText({ kind, pay_date, line_of_coverage, ...item }: Item): string {
  const of = `${KINDS[kind]} of ${dayText(pay_date)}, ${plain(line_of_coverage)}`;
  const employer = item.outstanding_employer_amount;
  return `${of}: employee ${money(item.outstanding_member_amount)}${Number(employer) === 0 ? '' : `, employer ${money(employer)}`}`;
}
