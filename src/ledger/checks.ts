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

async function ledgerEmpty(db: Db, { employerId }: EmployerQuestion): Promise<Found[]> {
  return (await hasDeductions(db, employerId)) ? [] : [fail(employerId)];
}

export const EMPLOYED_TWICE: Check<Db> = {
  id: 'employees-with-two-employers',
  ask: employeesWithTwoEmployers,
  advice: 'Whose deductions these are is not guessed: end the employment that is over, in its census.',
  passed: 'Every employee is active with one employer at most.',
};

export const DEDUCTIONS_UNMATCHED: Check<Db> = {
  id: 'deductions-unmatched',
  ask: deductionsUnmatched,
  advice:
    'These employees are in no census yet, so their deductions are in no list of an employer: bring the census.',
  passed: 'Every deduction is of an employee in the roster.',
};

export const LEDGER_EMPTY: Check<Db, EmployerQuestion> = {
  id: 'ledger-empty',
  ask: ledgerEmpty,
  advice:
    'Nobody of this employer ever had a deduction: check the employer id, or import what payroll deducts today.',
  passed: 'There are deductions of this employer’s employees.',
};
