/** An employee: the roster, deductions and paychecks. */
import Type, { type TSchema } from 'typebox';
import * as field from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import { listChanges } from '../../employment/changes.ts';
import { counted, notFound } from '../../errors.ts';
import { countUnapplied, UnappliedChange, unappliedChanges } from '../../inbox/unapplied.ts';
import { deductionCursor, viewDeduction } from '../../ledger/deduction-views.ts';
import { hasDeductions, listDeductions } from '../../ledger/deductions.ts';
import { employerOf, employmentsOf, spellOn, valueOn } from '../../ledger/employment.ts';
import { listEmployments, rosterOf } from '../../ledger/roster.ts';
import { seesAllOf, type Viewer } from '../../ledger/visibility.ts';
import { listPaychecks, Paycheck } from '../../payroll/lifecycle/paychecks.ts';
import { itemsOfEmployee, ShownItem } from '../../payroll/reconciliation/open-items.ts';
import { mayAlso } from '../auth.ts';
import { assertKnownFilter, employersFiltered, employersOf, seesEmployer, viewerOf } from '../employers.ts';
import { operation } from '../operation.ts';
import { cursor, idFilter, limit, pageOf } from '../schemas.ts';
import { StateOfDeduction } from './deductions.ts';
import { ChangeSummary } from './employee-changes.ts';

/** Maximum deductions, and maximum changes, of one response. A cursor leads to further ones. An employee has a handful. */
const SHOWN = 100;
/** Reports on one employee: one for each census that stated something new, over decades. */
const FACTS_SHOWN = 1_000;

const Fact = field.component(
  'RosterFact',
  {
    position: Type.Integer({ minimum: 1, description: 'The position of the report in the ledger.' }),
    employer_id: field.text('The employer.'),
    hire_date: field.nullableText('The hire date.'),
    termination_date: field.nullableText('The termination date.'),
    employment_status: field.nullableText('full_time, part_time or variable_hours.'),
    pay_frequency: field.nullableText('The pay frequency.'),
    pay_group: field.nullableText('The pay group, from a census.'),
    absent: field.nullable(field.boolean("Whether the employer's census lacks the employee.")),
    effective_on: field.nullableText('The date from which the report applies. Null means `received_on`.'),
    source: Type.Enum(['census', 'new-hire', 'termination', 'compensation-change'], {
      description: 'The kind of report.',
    }),
    source_id: field.text('The ID of the census or change.'),
    recorded_at: field.text('The time of receipt.'),
    received_on: field.text('The date of receipt.'),
  },
  'One report on an employment. Null fields were not reported and change nothing.',
);

const Employed = field.component(
  'Employment',
  {
    employer_id: field.text('The employer.'),
    spells: Type.Array(
      field.closed({
        hire_date: field.nullableText('The hire date. Null if unknown.'),
        termination_date: field.nullableText('The termination date. Null if none was reported.'),
        contradicted_on: field.nullableText(
          'The time a census listed the employee after a termination, which canceled the termination. Null if none did.',
        ),
      }),
      { description: 'Periods of employment, in order.' },
    ),
    employment_status: field.nullableText('full_time, part_time or variable_hours. Null if unknown.'),
    pay_frequency: field.nullableText('The pay frequency. Null if unknown.'),
    pay_group: field.nullableText('The pay group. Null if unknown.'),
    absent: field.boolean("Whether the employer's newest census lacks the employee."),
  },
  'An employment as of today.',
);

/** The beginning of a list that has its own route. */
const beginningOf = <const S extends TSchema>(row: S, path: string) =>
  field.closed({
    data: Type.Array(row, { description: `The first ${SHOWN} entries.` }),
    has_more: field.boolean('Whether the list has more entries.'),
    next_cursor: field.nullableText('The cursor for the rest of the list. Null if this is all of it.'),
    url: field.text(`The path of the full list: \`${path}\` of this employee.`),
  });

/** The parts that require another scope in addition to the route's own. */
const MORE = [
  { part: 'changes', scope: 'changes:read' },
  { part: 'open_items', scope: 'runs:read' },
] as const;

const DEDUCTIONS = '/v1/deductions';
const CHANGES = '/v1/employee-changes';

const Employee = field.component(
  'Employee',
  {
    id: field.text('The employee ID of payroll.'),
    employer_id: field.nullableText(
      'The current employer according to the roster. Null if there is none, or more than one.',
    ),
    employments: Type.Array(Employed, {
      description: 'The employments with every employer that reported the employee.',
    }),
    roster: Type.Array(Fact, { description: `The last ${FACTS_SHOWN} reports of the roster, in order.` }),
    deductions: beginningOf(StateOfDeduction, DEDUCTIONS),
    unapplied: Type.Array(UnappliedChange, {
      description:
        'Changes of amounts that arrived and are not applied, newest first. Empty for a token limited to employers.',
    }),
    unapplied_notice: field.nullableText(
      'For a token limited to employers: how many events about the employee are not applied. Null if there are none.',
    ),
    changes: Type.Optional(beginningOf(ChangeSummary, CHANGES)),
    open_items: Type.Optional(
      Type.Array(ShownItem, {
        description: `The first ${SHOWN} items with an outstanding amount, by employer and pay date.`,
      }),
    ),
    left_out: Type.Array(
      field.closed({
        part: Type.Enum(['changes', 'open_items'], { description: 'The part that is not shown.' }),
        scope: Type.Enum(['changes:read', 'runs:read'], { description: 'The scope it requires.' }),
      }),
      { description: 'The parts that are not shown because the token lacks their scopes.' },
    ),
  },
  'Everything known about an employee, without names or SSN.',
);

export const EmployeeId = field.closed({
  employee_id: { ...field.identifier, description: 'The employee ID of payroll, percent-encoded.' },
});

const EmployeeRow = field.component(
  'EmployeeSummary',
  {
    id: field.text('The employee ID of payroll.'),
    employer_id: field.text('The employer.'),
    hire_date: field.nullableText('The date of the last hire until today. Null if unknown.'),
    termination_date: field.nullableText('The end of that employment. Null if none was reported.'),
    pay_frequency: field.nullableText('The pay frequency. Null if unknown.'),
    pay_group: field.nullableText('The pay group. Null if unknown.'),
    absent: field.boolean("Whether the employer's newest census lacks the employee."),
  },
  'An employee of one employer, as of today.',
);

export const listEmployees = operation({
  id: 'listEmployees',
  method: 'GET',
  path: '/v1/employees',
  scope: 'ledger:read',
  employers: 'list',
  isForConsole: true,
  summary: 'List employees',
  description: 'Lists past and present employees by ID, once for each of their employers, without names.',
  query: field.closed({ employer_id: idFilter('Only employees of this employer.'), cursor, limit }),
  response: { 200: pageOf(EmployeeRow) },
  refuses: ['NOT_FOUND'],
  async run(call, { db, now }) {
    const { employer_id, ...page } = call.query;
    await assertKnownFilter(call, { db }, employer_id);
    const employers = employersFiltered(call, employer_id);
    const list = await listEmployments(db, employers, page);
    const roster = await rosterOf(
      db,
      list.data.map(({ employee_id }) => employee_id),
    );
    const today = dayAt(db, now());
    const data = list.data.map(({ employee_id: id, employer_id: of }) => {
      const reports = (roster.get(id) ?? []).filter((report) => report.employer_id === of);
      const [employment] = employmentsOf(reports) as [ReturnType<typeof employmentsOf>[number]];
      const spell = spellOn(employment, today) ?? employment.spells[0];
      return {
        ...{ id, employer_id: of },
        hire_date: spell?.hire_date ?? null,
        termination_date: spell?.termination_date ?? null,
        pay_frequency: valueOn(employment, 'pay_frequency', today),
        pay_group: valueOn(employment, 'pay_group', today),
        absent: valueOn(employment, 'absent', today) === 1,
      };
    });
    return { ...list, data };
  },
});

export const getEmployee = operation({
  id: 'getEmployee',
  method: 'GET',
  path: '/v1/employees/:employee_id',
  scope: 'ledger:read',
  employers: 'employee',
  summary: 'Get an employee',
  description:
    'Returns the roster with its history and the first ' +
    `${SHOWN} deductions. A token with the scope \`changes:read\` also gets the newest ${SHOWN} employment changes, ` +
    'and one with `runs:read` the open items.',
  params: EmployeeId,
  response: { 200: Employee },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const { db, now } = parts;
    const { employee_id: employeeId } = call.params;
    const today = dayAt(db, now());
    const viewer = viewerOf(call, parts);
    const isSeen = ({ employer_id }: { employer_id: string }) => seesEmployer(call, employer_id);
    const reports = (await rosterOf(db, [employeeId])).get(employeeId) ?? [];
    const facts = reports.filter(isSeen).slice(-FACTS_SHOWN);
    const employments = employmentsOf(reports).filter(isSeen);
    const employer = employerOf(employmentsOf(reports), today);
    const deductions = await listDeductions(db, { employeeId, viewer }, { limit: SHOWN }, today);
    const changes = mayAlso(call.caller, 'changes:read')
      ? await listChanges(db, { employeeId, employers: employersOf(call) }, { limit: SHOWN })
      : null;
    const isKnown = facts.length + deductions.deductions.length + (changes?.data.length ?? 0) > 0;
    if (!isKnown) throw notFound('employee');
    const employers = employments.map(({ employer_id }) => employer_id);
    const of = `?employee_id=${encodeURIComponent(employeeId)}`;
    return {
      id: employeeId,
      employer_id: employer !== null && isSeen({ employer_id: employer }) ? employer : null,
      employments: employments.map((employment) => ({
        employer_id: employment.employer_id,
        spells: [...employment.spells],
        employment_status: valueOn(employment, 'employment_status', today),
        pay_frequency: valueOn(employment, 'pay_frequency', today),
        pay_group: valueOn(employment, 'pay_group', today),
        absent: valueOn(employment, 'absent', today) === 1,
      })),
      roster: facts.map(({ employee_id: _, absent, ...fact }) => ({
        ...fact,
        absent: absent === null ? null : absent === 1,
      })),
      deductions: {
        ...deductionCursor.page(deductions.deductions.map(viewDeduction), deductions.next),
        url: DEDUCTIONS + of,
      },
      ...(await unappliedOf(db, employeeId, viewer)),
      ...(changes !== null && { changes: { ...changes, url: CHANGES + of } }),
      ...(mayAlso(call.caller, 'runs:read') && {
        open_items: await itemsOfEmployee(db, employeeId, employers, { today, viewer, limit: SHOWN }),
      }),
      left_out: MORE.filter(({ scope }) => !mayAlso(call.caller, scope)),
    };
  },
});

export const listPaychecksOfEmployee = operation({
  id: 'listPaychecksOfEmployee',
  method: 'GET',
  path: '/v1/employees/:employee_id/paychecks',
  scope: 'runs:read',
  employers: 'employee',
  summary: 'List the paychecks of an employee',
  description:
    'Lists what finalized runs take from the paychecks of an employee, the latest pay date first, with the reason of each amount. Empty for an employee in no run.',
  params: EmployeeId,
  query: field.closed({ cursor, limit }),
  response: { 200: pageOf(Paycheck) },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const { employee_id: employeeId } = call.params;
    const employers = await seenEmployersOf(parts.db, call, employeeId);
    return listPaychecks(parts.db, employeeId, { employers, viewer: viewerOf(call, parts) }, call.query);
  },
});

/**
 * Returns the employers that have reported an employee and that the caller may see. Throws NOT_FOUND for an employee without
 * reports and deductions: its ID may be mistyped.
 */
export async function seenEmployersOf(
  db: Db,
  caller: Parameters<typeof seesEmployer>[0],
  employeeId: string,
): Promise<string[]> {
  const reports = (await rosterOf(db, [employeeId])).get(employeeId) ?? [];
  if (reports.length === 0 && !(await hasDeductions(db, employeeId))) throw notFound('employee');
  const employers = new Set(reports.map(({ employer_id }) => employer_id));
  return [...employers].filter((employerId) => seesEmployer(caller, employerId));
}

/** A limited caller does not see events, only how many concern the employee. */
async function unappliedOf(db: Db, employeeId: string, viewer: Viewer | null) {
  if (viewer === null) {
    const unapplied = [...((await unappliedChanges(db, employeeId)).get(employeeId) ?? [])];
    return { unapplied, unapplied_notice: null };
  }
  const count = (await seesAllOf(db, employeeId, viewer)) ? await countUnapplied(db, employeeId) : 0;
  const events = counted(count, 'event');
  return {
    unapplied: [],
    unapplied_notice: count === 0 ? null : `${events} could not be applied; ask an operator`,
  };
}
