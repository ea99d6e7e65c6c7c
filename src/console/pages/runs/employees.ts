/** The employees of a run, compared with the previous run. A row opens into its lines; rows without a difference are folded. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import { listPayrollRunEmployees } from '../../../api/operations/payroll-run-employees.ts';
import { empty, later, state } from '../../elements/facts.ts';
import { ANY, choicesOf, field } from '../../elements/fields.ts';
import { count, counted, difference, money, plain } from '../../elements/format.ts';
import { address, pathOf, type Query, runPath } from '../../elements/links.ts';
import { numberedPages, PAGE_ROWS } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { REASONS, type Run } from './labels.ts';
import { linesOfEmployee } from './lines.ts';

type Employees = ResultOf<typeof listPayrollRunEmployees>;
type Employee = RowOf<typeof listPayrollRunEmployees>;

const SORTS = {
  difference: 'Largest difference',
  member_amount: 'Largest amount',
  employee_id: 'Employee ID',
};
/** The parameters of the page's address that select employees. */
const FILTERS = ['search', 'reason', 'sort', 'all', 'page'] as const;

export function runEmployeePages({ part }: Console): void {
  part('/runs/:run_id/employees', 'runs:read', employeesPart);
  part('/runs/:run_id/employee', 'runs:read', linesOfEmployee);
}

/** Renders the section, whose rows load as soon as the run is computed. */
export function employeesOf({ query }: Visit, { id }: Run): Html {
  const path = address(runPath(id, '/employees'), selected(query));
  return html`
    <section id="employees" aria-labelledby="employees-title">
      <h2 id="employees-title">Employees</h2>
      ${later(path, 'Loading the employees …')}
    </section>
  `;
}

function selected(query: Query): Query {
  return Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
}

async function employeesPart({ api, params, query, may }: Visit): Promise<Html> {
  const { run_id: runId = '' } = params;
  const { search, reason, sort, all, page = '1' } = query;
  const isFolded = all === undefined && search === undefined && reason === undefined;
  const list = { limit: PAGE_ROWS, search, reason, sort, page, ...(isFolded && { different: 'true' }) };
  const { data: employees } = await attempt(api.perform(listPayrollRunEmployees, { query: list }), 422);
  // The totals above show why the run cannot be computed.
  if (employees === undefined) return html`<div></div>`;
  const path = runPath(runId);
  const same = employees.employees - employees.different;
  const unfold =
    same > 0 &&
    html`<p class="on-screen"><a href=${`${address(path, { ...selected(query), all: 'true', page: undefined })}#employees`}>${`Show ${counted(same, 'employee')} without a difference`}</a></p>`;
  return html`
    <div>
      ${filters(path, query)}
      ${employees.data.length === 0 ? nothing(employees, isFolded) : rowsOf(employees, runId, may)}
      ${numberedPages({ path, query: selected(query), total: employees.total, anchor: 'employees' })}
      ${isFolded && unfold}
    </div>
  `;
}

function nothing({ employees }: Employees, isFolded: boolean): Html {
  if (!isFolded)
    return empty('No matching employees', html`<p>Change the filters, or show all differences.</p>`);
  if (employees > 0)
    return empty('No differences', html`<p>No employee pays another amount than before.</p>`);
  const advice = html`<p>No employee has a deduction in effect. Events may be pending, or the census may be missing.</p>`;
  return empty('No employees in this run', advice);
}

function filters(path: string, { search = '', reason = '', sort = '', all }: Query): Html {
  const isFiltered = [search, reason, sort].some((value) => value !== '') || all !== undefined;
  return html`
    <form class="fields" method="get" action=${`${path}#employees`} role="search" aria-label="Employees">
      ${field({ name: 'search', label: 'Employee ID', value: search })}
      ${field({ name: 'reason', label: 'Difference', value: reason, choices: [ANY, ...choicesOf(REASONS)] })}
      ${field({ name: 'sort', label: 'Order', value: sort, choices: choicesOf(SORTS) })}
      <button type="submit" class="quiet">Show</button>
      ${isFiltered && html`<a class="button quiet" href=${`${path}#employees`}>Show differences</a>`}
    </form>
  `;
}

function rowsOf({ data }: Employees, runId: string, may: Visit['may']): Html {
  return html`
    <div class="employees">
      <div class="employee-heads" aria-hidden="true"><span>Employee</span><span>Before</span><span>Now</span><span>Difference</span><span>Why</span></div>
      ${data.map((employee) => rowOf(employee, runId, may))}
    </div>
  `;
}

function rowOf(employee: Employee, runId: string, may: Visit['may']): Html {
  const { id, previous_member_amount, member_amount, member_difference, employer_difference } = employee;
  const amount = (label: string, text: string) =>
    html`<span class="pays"><span class="hidden-label">${` ${label} `}</span>${text}</span>`;
  const isOfEmployer = Number(member_difference) === 0 && Number(employer_difference) !== 0;
  return html`
    <details class="employee" hx-get=${address(runPath(runId, '/employee'), { employee_id: id })} hx-trigger="toggle once" hx-target="find .lines-of" hx-swap="innerHTML">
      <summary>
        <span class="of id">${id}</span>
        ${amount('before', money(previous_member_amount))}
        ${amount('now', money(member_amount))}
        ${amount('difference', difference(member_difference))}
        <span class="says">
          ${employee.reasons.map(reasonOf)}
          ${isOfEmployer && html`<span class="soft">${`employer ${difference(employer_difference)}`}</span>`}
        </span>
      </summary>
      <div class="lines-of" aria-live="polite"><p class="soft">Loading the lines …</p></div>
      ${may('ledger:read') && html`<p class="on-screen"><a href=${pathOf('/employees', id) ?? address('/ledger', { employee_id: id })}>Employment and deductions of this employee</a></p>`}
    </details>
  `;
}

function reasonOf({ reason, line_of_coverage }: Employee['reasons'][number]): Html {
  const coverage = line_of_coverage === null ? '' : `${plain(line_of_coverage)} `;
  return state(
    `${coverage}${REASONS[reason]}`.trim(),
    reason === 'left' || reason === 'ended' ? 'warn' : 'plain',
  );
}

/** Links to the employees of a run by the reason of their difference: `Joined 2`. */
export function reasonLinks(runId: string, reasons: Employees['reasons']): Html | null {
  if (reasons.length === 0) return null;
  const items = reasons.map(
    ({ reason, employees }) =>
      html`<li><a href=${`${address(runPath(runId), { reason })}#employees`}>${REASONS[reason]} <span class="soft">${count(employees)}</span></a></li>`,
  );
  return html`<nav class="tabs reasons" aria-label="Employees by reason of their difference"><ul>${items}</ul></nav>`;
}
