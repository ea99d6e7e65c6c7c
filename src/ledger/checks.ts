/** The readiness checks of the roster and of its deductions. */
import { type Check, type EmployerQuestion, FOUND_AT_MOST, fail, type Question } from '../checks.ts';
import { piecesOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import { createEmployeeSets, type EmployeeSets, KEPT_MAX } from './employee-sets.ts';
import { employmentsOf, isActive } from './employment.ts';
import { employeesKnownAt, hasDeductions, rosterOf } from './roster.ts';

/** A process that reports repeatedly passes its sets. Without them, the whole ledger is scanned. */
export type LedgerQuestion = Question & { employeeSets?: EmployeeSets | undefined };

export const EMPLOYED_TWICE: Check<Db, LedgerQuestion> = {
  id: 'employees-with-two-employers',
  title: 'Employees are active with two employers',
  ask: async (db, { now, employerId, employeeSets }) => {
    const today = now.toISOString().slice(0, 'YYYY-MM-DD'.length);
    const employees = await activeTwice(db, today, FOUND_AT_MOST, employeeSets);
    if (employerId === undefined || employees.length === 0) return employees.map(fail);
    const ofEmployer = await employeesKnownAt(db, employerId, employees);
    return employees.filter((id) => ofEmployer.has(id)).map(fail);
  },
  advice:
    'These employees are active with two employers, and the sidecar does not guess. Report the termination at the previous employer.',
  passed: 'No employee is active with two employers.',
};

export const DEDUCTIONS_UNMATCHED: Check<Db, LedgerQuestion> = {
  id: 'deductions-unmatched',
  title: 'Deductions of employees in no census',
  // A warning: deductions may arrive before the census that names their employee. An employer sees their number.
  ask: async (db, { employerId, employeeSets = createEmployeeSets(db) }) => {
    const employees = await employeeSets.unmatched();
    const count = employees.length;
    if (employerId === undefined || count === 0)
      return employees.map((example) => ({ example, result: 'warn' }));
    return [{ example: `${count} of no known employer`, result: 'warn', count }];
  },
  advice: 'These employees are in no census, so their deductions belong to no employer. Stage the census.',
  passed: 'Every deduction belongs to an employee in the roster.',
};

export const LEDGER_EMPTY: Check<Db, EmployerQuestion> = {
  id: 'ledger-empty',
  title: 'No employee of this employer has ever had a deduction',
  ask: async (db, { employerId }) => ((await hasDeductions(db, employerId)) ? [] : [fail(employerId)]),
  advice:
    'No employee of this employer has ever had a deduction. Check the employer ID, or import the current deductions.',
  passed: 'This employer has deductions.',
};

const EMPLOYEES_AT_ONCE = 200;

/** Returns the first `limit` employees, by id, who are active with two or more employers on a day. */
export async function activeTwice(
  db: Db,
  day: string,
  limit: number,
  sets = createEmployeeSets(db),
): Promise<string[]> {
  const activeTwice: string[] = [];
  let shared = await sets.shared();
  for (;;) {
    for (const ids of piecesOf(shared, EMPLOYEES_AT_ONCE)) {
      const roster = await rosterOf(db, ids);
      for (const id of ids) {
        const employments = employmentsOf(roster.get(id) ?? []);
        if (employments.filter((employment) => isActive(employment, day)).length > 1) activeTwice.push(id);
      }
      if (activeTwice.length >= limit) return activeTwice.slice(0, limit);
      await new Promise(setImmediate);
    }
    if (shared.length < KEPT_MAX) return activeTwice;
    shared = await sets.sharedAfter(shared.at(-1));
  }
}
