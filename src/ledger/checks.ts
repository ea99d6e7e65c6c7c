/** The readiness checks of the roster and of its deductions. */
import {
  type Check,
  type EmployerQuestion,
  FOUND_AT_MOST,
  type Found,
  fail,
  type Question,
} from '../checks.ts';
import type { Db } from '../database/tables.ts';
import { unmatchedEmployees } from './employee-sets.ts';
import { activeTwice, employeesKnownAt, hasDeductions } from './roster.ts';

async function employeesWithTwoEmployers(db: Db, { now, employerId }: Question): Promise<Found[]> {
  const day = now.toISOString().slice(0, 10);
  const employees = await activeTwice(db, day, FOUND_AT_MOST);
  if (employerId === undefined || employees.length === 0) return employees.map(fail);
  const ofEmployer = await employeesKnownAt(db, employerId, employees);
  return employees.filter((id) => ofEmployer.has(id)).map(fail);
}

/** A warning only: deductions may arrive before the census that names their employee. An employer sees their number. */
async function deductionsUnmatched(db: Db, { employerId }: Question): Promise<Found[]> {
  const employees = await unmatchedEmployees(db);
  if (employerId === undefined || employees.length === 0)
    return employees.map((example) => ({ example, result: 'warn' }));
  const count = employees.length;
  return [{ example: `${count} of no known employer`, result: 'warn', count }];
}

export const EMPLOYED_TWICE: Check<Db> = {
  id: 'employees-with-two-employers',
  ask: employeesWithTwoEmployers,
  advice:
    'These employees are active with two employers, and the sidecar does not guess. Report the termination at the previous employer.',
  passed: 'No employee is active with two employers.',
};

export const DEDUCTIONS_UNMATCHED: Check<Db> = {
  id: 'deductions-unmatched',
  ask: deductionsUnmatched,
  advice: 'These employees are in no census, so their deductions belong to no employer. Stage the census.',
  passed: 'Every deduction belongs to an employee in the roster.',
};

export const LEDGER_EMPTY: Check<Db, EmployerQuestion> = {
  id: 'ledger-empty',
  ask: async (db, { employerId }) => ((await hasDeductions(db, employerId)) ? [] : [fail(employerId)]),
  advice:
    'No employee of this employer has ever had a deduction. Check the employer ID, or import the current deductions.',
  passed: 'This employer has deductions.',
};
