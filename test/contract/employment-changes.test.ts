import t from 'tap';
import { compensationChange, demographic, newHire, termination } from '../../src/contract/employment.ts';
import {
  ABSENT,
  among,
  checkRules,
  days,
  fails,
  identifiers,
  noOtherField,
  passes,
  required,
  text,
} from './rules.ts';
import * as samples from './samples.ts';

t.test('a new hire is an employee with an employer', async (t) => {
  checkRules(t, newHire, samples.newHire, [
    ...required(...Object.keys(samples.newHire)),
    ...identifiers('employer_id', 'employee_id'),
    ...text('employer'),
    passes('employer', ABSENT),
    fails('employer: must have at least 1 character', ''),
    ...days('termination_date', 'dob'),
    ...among('employment_status', ['full_time', 'part_time']),
    passes('pay_rate', [samples.payRate]),
    fails('pay_rate: must be an array', samples.payRate),
    noOtherField,
  ]);
});

t.test('a termination names an employee and a day', async (t) => {
  checkRules(t, termination, samples.termination, [
    ...required('employee_id', 'termination_date'),
    ...identifiers('employee_id'),
    ...days('termination_date'),
    noOtherField,
  ]);
});

t.test('a demographic change names an employee and an address', async (t) => {
  checkRules(t, demographic, samples.demographic, [
    ...required('employee_id', 'address', 'address.line1'),
    ...identifiers('employee_id'),
    passes('address.state', 'DC'),
    fails('address.state: must be a US state code', 'D.C.'),
    noOtherField,
  ]);
});

t.test('a compensation change follows the interface', async (t) => {
  checkRules(t, compensationChange, samples.compensationChange, [
    ...required('employee_id'),
    ...identifiers('employee_id'),
    ...among('pay_frequency', ['weekly', 'biweekly', 'semimonthly', 'monthly']),
    ...among('employment_status', ['full_time', 'part_time', 'variable_hours']),
    passes('pay_rate', samples.payRate),
    fails('pay_rate: must be an object', [samples.payRate], null, '25.50'),
    {
      field: 'pay_rate',
      values: [{ period: 'hourly', effective_start: '2026-01-01' }],
      problem: 'pay_rate.amount: is required',
    },
    noOtherField,
  ]);
});

t.test('a compensation change has at least one field in addition to the employee', async (t) => {
  const { employee_id } = samples.compensationChange;
  checkRules(t, compensationChange, samples.compensationChange, [
    passes(
      '',
      { employee_id, pay_frequency: 'weekly' },
      { employee_id, pay_rate: samples.payRate },
      { employee_id, employment_status: 'variable_hours' },
    ),
    fails('must have at least one of pay_frequency, pay_rate, employment_status', { employee_id }),
  ]);
});
