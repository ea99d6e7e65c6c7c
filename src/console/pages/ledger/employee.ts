/** One employee: employment, deductions, open items, changes and roster reports. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import { listDeductions } from '../../../api/operations/deductions.ts';
import { getEmployee } from '../../../api/operations/employees.ts';
import type { listPayrollsDue } from '../../../api/operations/payrolls-due.ts';
import { empty, state } from '../../elements/facts.ts';
import { dayOf, dayText, instant, plain, term, sentence as written } from '../../elements/format.ts';
import { historyOf } from '../../elements/history.ts';
import * as links from '../../elements/links.ts';
import { PAGE_ROWS, table, withNote } from '../../elements/list.ts';
import {
  lastPaychecks,
  type Paycheck,
  paychecksOfDeduction,
  paycheckTable,
} from '../../elements/paychecks.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { dataOrNull } from '../../performing.ts';
import { ACCEPTED_COLUMN, CHANGE_COLUMN } from '../changes/list.ts';
import { itemsPath } from '../items/labels.ts';
import { itemColumns } from '../items/list.ts';
import { notFound } from './list.ts';
import { type DuePayrolls, nextPaychecks, payrollsOfEmployee } from './next-paycheck.ts';
import {
  type Change,
  changeList,
  type Deduction,
  deductionTable,
  employerAdviceFor,
  sentence,
  spanOf,
  stateOn,
} from './terms.ts';

type Employee = ResultOf<typeof getEmployee>;
type Fact = Employee['roster'][number];
type Employment = Employee['employments'][number];
type Spell = Employment['spells'][number];

/** Changes shown here; the list of changes has all. */
const CHANGES_SHOWN = 10;
const FACTS_SHOWN = 50;
/** Deductions whose paychecks are explained. An employee has a handful in effect. */
const EXPLAINED = 20;

/** What a roster report may state. */
const FACTS = ['hire_date', 'termination_date', 'employment_status', 'pay_frequency', 'pay_group'] as const;

export function employeePages({ page }: Console): void {
  page('/employees/:employee_id', 'ledger:read', async (visit) => {
    const { api, params, today, may } = visit;
    const { employee_id: id = '' } = params;
    const path = links.pathOf('/employees', id);
    const employee = path === null ? null : await dataOrNull(api.perform(getEmployee));
    if (path === null || employee === null) return notFound('employee', id, may);
    const { deductions, roster } = employee;
    // A hidden part must not look like an empty one.
    const hidden = employee.left_out.map(({ part, scope }) => `${plain(part)} (${scope})`).join(' and ');
    const due = await payrollsOfEmployee(visit, employee);
    const body = html`
      ${employerAdviceFor(deductions.data)}
      ${roster.length > 0 && employments(employee.employments, due, today)}
      ${unappliedNotice(employee.unapplied, visit)}
      ${employee.unapplied_notice !== null && html`<p class="problem">${employee.unapplied_notice}.</p>`}
      ${await nextPaychecks(visit, employee, due)}
      ${await deductionsOf(employee, visit)}
      ${itemsOf(employee, visit)}
      ${changesOf(employee)}
      ${roster.length > 0 && rosterTable(roster, path, visit)}
      ${await historyOf(visit, { employee_id: id }, { isOpen: true })}
      ${hidden !== '' && html`<p class="soft">${`Hidden, because your token lacks the scope: ${hidden}.`}</p>`}
    `;
    return { title: html`Employee ${links.named('employee', id)}`, body };
  });
}

function employments(list: readonly Employment[], due: DuePayrolls, today: string): Html {
  const rows = list.flatMap(({ spells, ...employment }) =>
    spells.map((spell) => ({ ...employment, ...spell })),
  );
  return table(rows, { caption: 'Employment' }, [
    ['Employer', ({ employer_id }) => links.employerLink(employer_id), 'name'],
    ['State', (row) => employmentState(row, today)],
    ['Hired', ({ hire_date }) => (hire_date === null ? 'Unknown' : dayOf(hire_date)), 'date'],
    ['Terminated', lastDay, 'date'],
    ['Status', ({ employment_status }) => term(employment_status ?? 'unknown')],
    ['Pay frequency', (row) => frequencyOf(row, due.get(row.employer_id) ?? [])],
    ['Pay group', ({ pay_group }) => pay_group ?? '–'],
  ]);
}

/** Renders the pay frequency. If it is unknown, a run uses the frequency of the employer's only schedule. */
function frequencyOf(
  { pay_frequency }: Pick<Employment, 'pay_frequency'>,
  due: readonly RowOf<typeof listPayrollsDue>[],
): Html {
  const only = due.length === 1 ? due[0]?.pay_frequency : null;
  if (pay_frequency === null && only != null) return withNote(term(only), 'the employer’s only pay schedule');
  return term(pay_frequency ?? 'unknown');
}

function lastDay({ termination_date, contradicted_on }: Spell): Content {
  if (contradicted_on !== null) return `No (a census of ${dayText(contradicted_on)} canceled a termination)`;
  return dayOf(termination_date);
}

function employmentState(row: Spell & Pick<Employment, 'absent'>, today: string): Html {
  const { hire_date, termination_date, absent } = row;
  if (hire_date !== null && today < hire_date) return state('starts later');
  if (termination_date !== null && termination_date < today) return state('ended');
  return absent ? state('not in the newest census', 'warn') : state('employed', 'good');
}

/** Explains the last paychecks of deductions in effect or in the latest paycheck, then lists other deductions. */
async function deductionsOf(employee: Employee, visit: Visit): Promise<Html> {
  const { api, today, may } = visit;
  const { id: employee_id, deductions } = employee;
  if (deductions.data.length === 0) return empty('No deductions');
  const paychecks = await lastPaychecks(visit, employee_id);
  const current = await api.perform(listDeductions, { query: { employee_id, on: today, limit: EXPLAINED } });
  const inLatest = new Set(paychecks?.[0]?.lines.map(({ deduction_id }) => deduction_id));
  const currentIds = new Set(current.data.map(({ id }) => id));
  const ended = deductions.data.filter(({ id }) => inLatest.has(id) && !currentIds.has(id));
  const explained = [...current.data, ...ended].slice(0, EXPLAINED);
  const explainedIds = new Set(explained.map(({ id }) => id));
  const others = deductions.data.filter(({ id }) => !explainedIds.has(id));
  const isMore = deductions.has_more || others.length > PAGE_ROWS;
  const more = isMore && links.address('/ledger', { employee_id });
  return html`
    ${paychecks !== null && paychecks.length > 0 && paycheckTable(paychecks, employee_id, may)}
    ${explained.length > 0 && html`<h2>Current deductions</h2>`}
    ${explained.map((deduction) => explanationOf(deduction, paychecks, today))}
    ${withMore(others.length > 0 && deductionTable(others.slice(0, PAGE_ROWS), { caption: 'Other deductions', day: today }), more, 'All deductions of this employee')}
  `;
}

function explanationOf(deduction: Deduction, paychecks: readonly Paycheck[] | null, today: string): Html {
  return html`
    <section class="card">
      <h3>${term(deduction.line_of_coverage)} ${links.deductionLink(deduction.id)} ${state(...stateOn(spanOf(deduction), today))}</h3>
      <p>${`${sentence(deduction)}.`}</p>
      ${paychecks !== null && paychecksOfDeduction(paychecks, deduction.id)}
    </section>
  `;
}

function itemsOf({ id: employee_id, open_items }: Employee, visit: Visit): Html | null {
  if (open_items === undefined) return null;
  if (open_items.length === 0) return html`<p class="soft">No open items.</p>`;
  const list = table(open_items, { caption: 'Open items' }, [
    ['Employer', ({ employer_id }) => links.named('employer', employer_id), 'name'],
    ...itemColumns(open_items, visit),
  ]);
  const employers = [...new Set(open_items.map(({ employer_id }) => employer_id))];
  const decide = employers.map(
    (employer_id) =>
      html`<a class="button quiet" href=${itemsPath({ employer_id, employee_id })}>Decide about open items${employers.length > 1 && [' with ', links.nameIn('employer', employer_id)]}</a>`,
  );
  return html`<section>${list}<div class="actions">${decide}</div></section>`;
}

function changesOf({ id: employee_id, changes }: Employee): Html | null {
  if (changes === undefined) return null;
  if (changes.data.length === 0) return html`<p class="soft">No employment changes.</p>`;
  const shown = changes.data.slice(0, CHANGES_SHOWN);
  const list = table(shown, { caption: 'Employment changes, newest first' }, [
    CHANGE_COLUMN,
    ['State', ({ state: now }) => state(now)],
    ['Reason', ({ reason }) => reason],
    ACCEPTED_COLUMN,
  ]);
  const isMore = shown.length < changes.data.length;
  return withMore(list, isMore && links.address('/changes', { employee_id }), 'All changes of this employee');
}

/** Lists the roster reports, newest first: all, or the first `FACTS_SHOWN`. */
function rosterTable(facts: readonly Fact[], path: string, { query, may }: Visit): Html {
  const rows = facts.map((fact, at) => ({ ...fact, differences: differencesOf(fact, facts.slice(0, at)) }));
  const shown = rows.toReversed().slice(0, query.roster === 'all' ? undefined : FACTS_SHOWN);
  // Only changes have pages.
  const sourcePath = ({ source, source_id }: Fact) =>
    source === 'census' || !may('changes:read') ? null : links.changePath(source_id);
  const list = table(shown, { caption: 'Roster reports, newest first' }, [
    ['Position', ({ position }) => position, 'number'],
    ['Employer', ({ employer_id }) => links.named('employer', employer_id), 'name'],
    ['Applies from', ({ effective_on, received_on }) => dayOf(effective_on ?? received_on), 'date'],
    ['Changes', ({ differences }) => changeList(differences)],
    [
      'Source',
      (row) => html`<span>${`${row.source} `}${links.idLink(sourcePath(row), row.source_id)}</span>`,
    ],
    ['Recorded', ({ recorded_at }) => instant(recorded_at), 'date'],
  ]);
  return withMore(list, shown.length < rows.length && `${path}?roster=all`, `Show all ${rows.length}`);
}

function withMore(list: Content, path: string | false, label: string): Html {
  return html`<section>${list}${path && html`<p><a href=${path}>${label}</a></p>`}</section>`;
}

/** Returns what a report states that differs from the employer's earlier reports. */
function differencesOf(fact: Fact, earlier: readonly Fact[]): Change[] {
  const known = earlier.filter(({ employer_id }) => employer_id === fact.employer_id);
  const lastOf = <K extends keyof Fact>(field: K) =>
    known.findLast((report) => report[field] !== null)?.[field] ?? null;
  const fields = FACTS.flatMap((field): Change[] => {
    const [before, after] = [lastOf(field), fact[field]];
    if (after === null || after === before) return [];
    const shown = field === 'hire_date' || field === 'termination_date' ? dayText : plain;
    return [{ what: plain(field), after: shown(after), ...(before !== null && { before: shown(before) }) }];
  });
  if (fact.absent === null || fact.absent === (lastOf('absent') ?? false)) return fields;
  const after = fact.absent ? 'without the employee' : 'with the employee again';
  return [...fields, { what: 'census', after }];
}

/** Renders the changes of an employee with their quarantined events; null without any. */
function unappliedNotice(changes: Employee['unapplied'], visit: Visit): Html | null {
  if (changes.length === 0) return null;
  const items = changes.map(
    ({ event_id, message }) =>
      html`<li>${written(message)}${' (event '}${links.eventOf(event_id, visit)})</li>`,
  );
  return html`
    <section class="notice" aria-label="Amounts not applied">
      <p>These amounts arrived in events that are quarantined. The amounts shown are the earlier ones.</p>
      <ul>${items}</ul>
    </section>
  `;
}
