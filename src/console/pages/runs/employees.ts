/** The employees of a run, compared with the previous run: the largest changes first, and every group by a chip. A row opens into its lines. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import { listPayrollRunEmployees } from '../../../api/operations/payroll-run-employees.ts';
import { listPayrollRunLines } from '../../../api/operations/payroll-run-lines.ts';
import { empty, later, savedNotice, state } from '../../elements/facts.ts';
import { assignLink } from '../../elements/finding.ts';
import { count, counted, difference, money, plain } from '../../elements/format.ts';
import {
  address,
  employeeOf,
  idLink,
  nameable,
  type Query,
  runEmployeesPath,
  runPath,
} from '../../elements/links.ts';
import { numberedPages, PAGE_ROWS } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { employeeFinder } from '../../search.ts';
import { type ComputedRun, changeName, flagLabel, type Run } from './labels.ts';
import { linesOfEmployee } from './paycheck-lines.ts';
import { computedOf, outlineOf } from './state.ts';
import { breakdown } from './totals.ts';

type Employees = ResultOf<typeof listPayrollRunEmployees>;
type Employee = RowOf<typeof listPayrollRunEmployees>;

/** Changes at the top of a run: few enough to read each. */
const LARGEST = 8;
/** The parameters of the page's address that select employees. */
const FILTERS = ['reason', 'flag', 'different', 'all', 'page'] as const;

export function runEmployeePages({ part, csv }: Console): void {
  part('/runs/:run_id/changes', 'runs:read', changesPart);
  part('/runs/:run_id/employees', 'runs:read', employeesPart);
  part('/runs/:run_id/employee', 'runs:read', linesOfEmployee);
  csv('/runs/:run_id/lines.csv', listPayrollRunLines, async (visit) => {
    const { id, state: now } = await outlineOf(visit);
    const { file_format } = visit.query;
    const isFinal = now === 'finalized';
    // A file of another state must not pass for the final one.
    const state = isFinal ? '' : `-${now}`;
    const filename = `${id}${file_format === undefined ? '' : '-payroll'}${state}.csv`;
    return { query: { file_format, download: isFinal ? 'true' : undefined }, filename };
  });
}

/** Reports whether the address selects employees, so that the page starts with them. */
export function isOfEmployees(query: Query): boolean {
  return ['employee_id', ...FILTERS].some((name) => query[name] !== undefined);
}

/** Renders the section: the lines of the employee in the address, or rows that load as soon as the run is computed. */
export async function employeesOf(visit: Visit, { id }: Run): Promise<Html> {
  const { query } = visit;
  const { employee_id, saved } = query;
  const path = runPath(id);
  if (employee_id !== undefined)
    return html`
      <section id="lines" aria-labelledby="lines-title">
        <h2 id="lines-title">Lines of ${nameable('employee', employee_id, idLink(null, employee_id))}</h2>
        ${savedNotice({ saved }, path, 'Back to the run')}
        ${await linesOfEmployee(visit)}
        <p class="on-screen"><a href=${runEmployeesPath(id)}>All employees</a></p>
      </section>
    `;
  return html`
    <section id="employees" aria-labelledby="employees-title">
      <h2 id="employees-title">Employees</h2>
      ${later(address(`${path}/employees`, selected(query)), 'Loading the employees …')}
    </section>
  `;
}

function selected(query: Query): Query {
  return Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
}

/** Renders the largest changes, each with its reasons. */
async function changesPart(visit: Visit): Promise<Html> {
  const { api, may } = visit;
  const run = await computedOf(visit);
  // An off-cycle run is compared with nothing, and a run without lines has its notice below.
  if (run === undefined || (run.comparison === null && (run.kind === 'off_cycle' || run.totals.lines === 0)))
    return html`<div></div>`;
  const { id: runId, comparison } = run;
  if (comparison === null)
    return html`<p>No earlier payroll of this pay frequency and pay group is final, so there is nothing to compare this one with.</p>`;
  const { data, different, reasons } = await api.perform(listPayrollRunEmployees, {
    query: { limit: LARGEST, different: 'true' },
  });
  const rounded = reasons.find(({ reason, employees }) => reason === 'rounding' && employees > 0);
  const same =
    rounded === undefined
      ? empty('No differences', html`<p>No employee pays another amount than before.</p>`)
      : html`<p><a href=${runEmployeesPath(runId, { reason: 'rounding' })}>${counted(rounded.employees, 'employee')}</a>${` ${rounded.employees === 1 ? 'differs' : 'differ'} by cents of rounding. No other amount changed.`}</p>`;
  return html`
    <section aria-labelledby="changes">
      <h2 id="changes">${different > data.length ? 'Largest changes' : 'Changes'}</h2>
      ${comparedWith(comparison)}
      ${data.length === 0 ? same : rowsOf(data, runId, may)}
      ${different > data.length && html`<p class="on-screen"><a href=${runEmployeesPath(runId, { different: 'true' })}>${`Show all ${count(different)} changes`}</a></p>`}
    </section>
  `;
}

function comparedWith({ previous_run_id, employees }: NonNullable<ComputedRun['comparison']>): Html {
  const { previous, current, joined, left } = employees;
  const moves = [joined > 0 && `, ${count(joined)} joined`, left > 0 && `, ${count(left)} left`]
    .filter((part) => part !== false)
    .join('');
  return html`<p>${'Compared with '}<a href=${runPath(previous_run_id)}>the previous run</a>${`: ${counted(previous, 'employee')} before, ${count(current)} now${moves}.`}</p>`;
}

/** Renders the chips, the employees that they select, and folded tables. Without a previous run, every employee is listed. */
async function employeesPart(visit: Visit): Promise<Html> {
  const { api, query, may } = visit;
  const run = await computedOf(visit);
  if (run === undefined) return html`<div></div>`;
  const { id: runId } = run;
  const { all: _, page = '1', ...filters } = selected(query);
  const list = { limit: PAGE_ROWS, page, ...filters };
  const employees = await api.perform(listPayrollRunEmployees, { query: list });
  const isCompared = run.comparison !== null;
  const path = runPath(runId);
  const shown =
    employees.data.length === 0
      ? nothing(employees)
      : html`
          ${rowsOf(employees.data, runId, may, isCompared)}
          ${numberedPages({ path, query: selected(query), total: employees.total, anchor: 'employees' })}
        `;
  return html`
    <div>
      ${chips(runId, query, employees)}
      ${employeeFinder(run.employer_id, path, 'Show')}
      ${(isOfEmployees(query) || !isCompared) && shown}
      ${breakdown(run, { may })}
    </div>
  `;
}

function nothing({ employees }: Employees): Html {
  if (employees > 0) return empty('No matching employees', html`<p>Choose another group above.</p>`);
  const advice = html`<p>No employee has a deduction in effect on this pay date. Events may be pending, or the census may be missing.</p>`;
  return empty('No employees in this run', advice);
}

/** Links the groups of employees that a run has, with their numbers. */
function chips(runId: string, query: Query, { employees, different, reasons, flags }: Employees): Html {
  const chip = (label: string, number: number, filter: Query) => {
    const isShown = Object.entries(filter).every(([name, value]) => query[name] === value);
    return html`<li><a href=${runEmployeesPath(runId, filter)} aria-current=${isShown ? 'true' : undefined}>${label} <span class="soft">${count(number)}</span></a></li>`;
  };
  return html`
    <nav class="tabs reasons" aria-label="Employees by group">
      <ul>
        ${chip('All', employees, { all: 'true' })}
        ${reasons.length > 0 && chip('Changed amounts', different, { different: 'true' })}
        ${reasons.map((group) => chip(changeName(group.reason), group.employees, { reason: group.reason }))}
        ${flags.map((group) => chip(flagLabel(group.flag), group.employees, { flag: group.flag }))}
      </ul>
    </nav>
  `;
}

function rowsOf(employees: readonly Employee[], runId: string, may: Visit['may'], isCompared = true): Html {
  const heads = isCompared ? ['Before', 'Now', 'Difference', 'Why'] : ['', 'Amount', '', ''];
  return html`
    <div class="employees">
      <div class="employee-heads" aria-hidden="true"><span>Employee</span>${heads.map((head) => html`<span>${head}</span>`)}</div>
      ${employees.map((employee) => rowOf(employee, runId, may, isCompared))}
    </div>
  `;
}

function rowOf(employee: Employee, runId: string, may: Visit['may'], isCompared: boolean): Html {
  const { id, previous_member_amount, member_amount, member_difference, employer_difference } = employee;
  const amount = (label: string, text: string) =>
    html`<span class="pays"><span class="hidden-label">${` ${label} `}</span>${text}</span>`;
  const before = isCompared ? amount('before', money(previous_member_amount)) : html`<span></span>`;
  const isOfEmployer = isCompared && Number(member_difference) === 0 && Number(employer_difference) !== 0;
  return html`
    <details class="employee" hx-get=${address(runPath(runId, '/employee'), { employee_id: id })} hx-trigger="toggle once" hx-target="find .lines-of" hx-swap="innerHTML">
      <summary>
        <span class="of">${nameable('employee', id, idLink(null, id))}</span>
        ${before}
        ${amount('now', money(member_amount))}
        ${isCompared && amount('difference', difference(member_difference))}
        <span class="says">
          ${employee.reasons.map(reasonOf)}
          ${isOfEmployer && html`<span class="soft">${`employer ${difference(employer_difference)}`}</span>`}
        </span>
      </summary>
      <div class="lines-of" aria-live="polite"><p class="soft">Loading the lines …</p></div>
      ${may('ledger:read') && html`<p class="on-screen">Employment and deductions: ${employeeOf(id, { may })}</p>`}
    </details>
    ${unassignedHint(employee, runId, may)}
  `;
}

const WARNING = ['left', 'ended', 'unassigned'];

function reasonOf({ reason, line_of_coverage }: Employee['reasons'][number]): Html {
  const coverage = line_of_coverage === null ? '' : `${plain(line_of_coverage)} `;
  return state(`${coverage}${changeName(reason)}`, WARNING.includes(reason) ? 'warn' : 'plain');
}

/** Links the form that assigns a deduction of an employee with two employers. It offers to assign their other deductions, too. */
function unassignedHint({ reasons }: Employee, runId: string, may: Visit['may']): Html | null {
  const id = reasons.find(({ reason }) => reason === 'unassigned')?.deduction_id;
  return id == null
    ? null
    : html`<p class="hint">The employee is active with two employers. Neither takes the deduction until it is assigned. ${assignLink(id, { may }, runId)}</p>`;
}
