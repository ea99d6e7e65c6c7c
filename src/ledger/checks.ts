/** The readiness checks of the roster and of its deductions. */
import { type Check, type EmployerQuestion, FOUND_AT_MOST, type Found, type Question } from '../checks.ts';
import { piecesOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { assignedEmployer, assignmentsOf, isAnyAssignedAfter } from './assignments.ts';
import { createEmployeeSets, type EmployeeSets, KEPT_MAX } from './employee-sets.ts';
import { type Employment, employmentsOf, jobsOn } from './employment.ts';
import { oddlyDatedDeductions, versionsOfEmployees } from './history.ts';
import { nearIds } from './near-ids.ts';
import { countingOf } from './placeholders.ts';
import { employeesKnownAt, hasDeductions, rosterOf } from './roster.ts';
import { appliesOn, isNeverInEffect, stateOn } from './state.ts';
import { withHidden } from './visibility.ts';

/** A process that reports repeatedly passes its sets. Without them, the whole ledger is scanned. */
export type LedgerQuestion = Question & { employeeSets?: EmployeeSets | undefined };

export const EMPLOYED_TWICE: Check<Db, LedgerQuestion, Found & { line: string }> = {
  id: 'employees-with-two-employers',
  title: 'Employees with two employers have unassigned deductions',
  severity: 'fail',
  async find(db, { now, employerId, employeeSets, viewer }) {
    const today = dayAt(db, now);
    const unassigned = await unassignedDeductions(db, today, employeeSets);
    const employees = unassigned.map(({ employee_id }) => employee_id);
    const ofEmployer = employerId === undefined ? null : await employeesKnownAt(db, employerId, employees);
    const concerned = unassigned.filter(({ employee_id }) => ofEmployer?.has(employee_id) !== false);
    const shown = await withHidden(db, concerned, viewer);
    return shown.map((deduction) => ({ ...deduction, result: 'fail' }));
  },
  text: ({ employee_id, deduction_id, line }) =>
    `${employee_id}: ${line.replaceAll('_', ' ')}, deduction ${deduction_id}`,
  advice:
    'These employees have or had two employers, and no run takes these deductions. Assign each deduction to an employer. If they are two people with one ID, give one of them another ID in the census.',
  passed: 'Every deduction of an employee with two employers is assigned to one where the employee works.',
  fixed: {
    at: 'ledger',
    action: 'assign',
    command: 'deductions assign --help',
    docs: 'employment-changes.md#one-person-two-employers',
  },
};

const NEAR_ADVICE =
  'The ID of a census differs from one of them only by zeros at its front, case or blanks. A spreadsheet may have removed the zeros: stage the census with the ID of the deduction.';

/** `known`: the ID in a census that differs only in its zeros, case or blanks. */
export const DEDUCTIONS_UNMATCHED: Check<Db, LedgerQuestion, Found & { known?: string }> = {
  id: 'deductions-unmatched',
  isGeneral: true,
  title: 'Deductions of employees in no census',
  // Deductions may arrive before the census that names their employee.
  severity: 'warn',
  async find(db, { employerId, employeeSets = createEmployeeSets(db) }) {
    const employees = await employeeSets.unmatched();
    const near = await nearIds(db, employees, employerId === undefined ? null : [employerId]);
    const named = employees.filter((id) => employerId === undefined || near.has(id));
    const findings = named.map((employee_id): Found & { known?: string } => {
      const known = near.get(employee_id);
      const finding = { employee_id, result: 'warn' } as const;
      return known === undefined ? finding : { ...finding, known, advice: NEAR_ADVICE };
    });
    // The report of one employer only counts the employees without a near ID.
    const count = employees.length - named.length;
    if (count > 0) findings.push({ result: 'warn', count });
    return findings;
  },
  text({ employee_id, known, count }) {
    if (employee_id == null) return `${count} of no known employer`;
    return known === undefined ? employee_id : `${employee_id}: the census has ${known}`;
  },
  advice: 'These employees are in no census, so their deductions belong to no employer. Stage the census.',
  passed: 'Every deduction belongs to an employee in the roster.',
  fixed: { at: 'ledger', query: { matched: 'false' }, docs: 'census.md' },
};

/** How far ahead the service plans: coverage starts within two plan years. */
const YEARS_AHEAD = 2;

/** Finds deductions whose latest state has dates that may not be meant. `isFound` receives the state and today. */
function oddDates(isFound: (state: OddState, today: string) => boolean) {
  return async (db: Db, { now, employerId, employees, viewer }: LedgerQuestion): Promise<OddDates[]> => {
    const today = dayAt(db, now);
    const states = (await oddlyDatedDeductions(db, employerId).execute()).filter(
      (state) => employees?.has(state.employee_id) !== false && isFound(state, today),
    );
    const listed = await withHidden(db, states.slice(0, FOUND_AT_MOST), viewer);
    return listed.map((state) => ({
      ...{ ...state, date: state.starts_on },
      // The service may cancel an election by such dates.
      result: 'warn',
      ids: [state.event_id],
    }));
  };
}

type OddState = Awaited<ReturnType<ReturnType<typeof oddlyDatedDeductions>['execute']>>[number];
type OddDates = Found & Pick<OddState, 'employee_id' | 'deduction_id' | 'starts_on' | 'ends_on'>;

export const DATE_CHECKS: readonly Check<Db, LedgerQuestion, OddDates>[] = [
  {
    id: 'never-in-effect',
    title: 'Deductions are in effect on no day',
    severity: 'warn',
    find: oddDates(isNeverInEffect),
    text: ({ employee_id, deduction_id, starts_on, ends_on }) =>
      `${employee_id}: deduction ${deduction_id}, ${starts_on === null ? 'until' : `${starts_on} to`} ${ends_on}`,
    advice:
      'The latest state of these deductions ends before it starts, or before 2000, so no run takes it. If that is not meant, ask the service to send correct dates.',
    passed: 'The latest state of every deduction is in effect on some day.',
    fixed: { at: 'ledger' },
  },
  {
    id: 'starts-far-ahead',
    title: 'Deductions start more than two years from now',
    severity: 'warn',
    find: oddDates(({ starts_on }, today) => starts_on !== null && starts_on > inYears(today, YEARS_AHEAD)),
    text: ({ employee_id, deduction_id, starts_on }) =>
      `${employee_id}: deduction ${deduction_id}, from ${starts_on}`,
    advice:
      'No run takes the latest state of these deductions before it starts. If the date is not meant, ask the service to send the correct one.',
    passed: 'No deduction starts more than two years from now.',
    fixed: { at: 'ledger' },
  },
];

function inYears(day: string, years: number): string {
  return `${Number(day.slice(0, 4)) + years}${day.slice(4)}`;
}

export const LEDGER_EMPTY: Check<Db, EmployerQuestion> = {
  id: 'ledger-empty',
  title: 'No employee of this employer has ever had a deduction',
  severity: 'fail',
  find: async (db, { employerId }) =>
    (await hasDeductions(db, employerId)) ? [] : [{ employer_id: employerId, result: 'fail' }],
  advice: 'Check the employer ID, or import the current deductions.',
  passed: 'This employer has deductions.',
  fixed: { at: 'census', query: {}, docs: 'payroll-files.md#import-deductions' },
};

const EMPLOYEES_AT_ONCE = 200;

/** Returns the first `limit` employees, by id, who are active with two or more employers on a day. */
export async function activeTwice(
  db: Db,
  day: string,
  limit: number,
  sets = createEmployeeSets(db),
): Promise<string[]> {
  const active: string[] = [];
  for await (const page of sharedEmployees(db, sets)) {
    for (const [id, employments] of page) if (activeWith(employments, day).length > 1) active.push(id);
    if (active.length >= limit) break;
  }
  return active.slice(0, limit);
}

type UnassignedDeduction = { employee_id: string; deduction_id: string; line: string };

/**
 * Returns the first deductions that are in effect on a day and that no run takes: of employees who are active with two
 * employers and without an assignment, or assigned to an employer where the employee is no longer active.
 */
async function unassignedDeductions(
  db: Db,
  day: string,
  sets = createEmployeeSets(db),
): Promise<UnassignedDeduction[]> {
  const unassigned: UnassignedDeduction[] = [];
  // Without assignments, only a second employer keeps a deduction out of every run.
  const employersAtLeast = (await isAnyAssignedAfter(db, 0)) ? 1 : 2;
  for await (const page of sharedEmployees(db, sets)) {
    const employers = new Map(page.map(([id, employments]) => [id, activeWith(employments, day)]));
    const working = [...employers]
      .filter(([, active]) => active.length >= employersAtLeast)
      .map(([id]) => id);
    for (const { assigned, ...deduction } of await deductionsOn(db, working, day)) {
      const active = employers.get(deduction.employee_id) ?? [];
      const isTaken = assigned === null ? active.length === 1 : active.includes(assigned);
      if (!isTaken) unassigned.push(deduction);
    }
    if (unassigned.length >= FOUND_AT_MOST) break;
  }
  return unassigned.slice(0, FOUND_AT_MOST);
}

/** Yields employees that several employers reported, with their employments, in the order of their ids. */
async function* sharedEmployees(
  db: Db,
  sets: EmployeeSets,
): AsyncGenerator<(readonly [id: string, employments: readonly Employment[]])[]> {
  let shared = await sets.shared();
  for (;;) {
    for (const ids of piecesOf(shared, EMPLOYEES_AT_ONCE)) {
      const roster = await rosterOf(db, ids);
      yield ids.map((id) => [id, employmentsOf(roster.get(id) ?? [])] as const);
      await new Promise(setImmediate);
    }
    if (shared.length < KEPT_MAX) return;
    shared = await sets.sharedAfter(shared.at(-1));
  }
}

/** Returns the employers with whom an employee is active on a day. */
function activeWith(employments: readonly Employment[], day: string): string[] {
  return jobsOn(employments, day).map(({ employer_id }) => employer_id);
}

/** Returns the deductions of employees that are in effect on a day, with the employers to which they are assigned. */
async function deductionsOn(db: Db, employees: readonly string[], day: string) {
  const histories = await versionsOfEmployees(db, employees);
  const ids = [...new Set([...histories.values()].flat().map(([{ deduction_id }]) => deduction_id))];
  const assignments = await assignmentsOf(db, ids);
  return [...histories].flatMap(([employee_id, deductions]) =>
    deductions.flatMap((versions) => {
      const [{ deduction_id }] = versions;
      const state = stateOn(countingOf(versions, deductions), day);
      if (state?.employee_id !== employee_id || !appliesOn(state, day)) return [];
      return [
        {
          ...{ employee_id, deduction_id, line: state.line_of_coverage },
          assigned: assignedEmployer(assignments.get(deduction_id) ?? [], day),
        },
      ];
    }),
  );
}
