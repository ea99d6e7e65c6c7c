import t from 'tap';
import { employee } from '../../src/contract/employee.ts';
import {
  ABSENT,
  among,
  checkRules,
  days,
  identifiers,
  noOtherField,
  type Rule,
  required,
  text,
} from './rules.ts';
import * as samples from './samples.ts';

function atMost(field: string, characters: number, unit = 'x'): Rule {
  return {
    field,
    passes: [unit.repeat(characters)],
    fails: [unit.repeat(characters + 1)],
    problem: `${field}: must be at most ${characters} characters`,
  };
}

const longEmail = (length: number) => `${'a'.repeat(length - '@example.com'.length)}@example.com`;

t.test('an employee of a census follows the interface', async (t) => {
  checkRules(t, employee, samples.employee, [
    ...required(...Object.keys(samples.employee)),
    ...identifiers('employee_id'),
    ...text('first_name', 'last_name', 'hours_worked', 'ssn', 'phone_number', 'job_title'),
    ...['first_name', 'last_name', 'job_title'].map((field) => atMost(field, 255)),
    // Characters, not the 16-bit units of JavaScript or the bytes of UTF-8.
    atMost('first_name', 255, '😀'),
    atMost('phone_number', 10, '5'),
    ...days('dob', 'hire_date', 'termination_date'),
    {
      field: 'email',
      passes: ['a@b.co'],
      fails: ['a@b', null],
      problem: 'email: must be a valid e-mail address',
    },
    {
      field: 'email',
      passes: [longEmail(254)],
      fails: [longEmail(255)],
      problem: 'email: must be at most 254 characters',
    },
    among('employment_status', ['full_time', 'part_time']),
    among('biological_sex', ['male', 'female']),
    among('pay_frequency', ['weekly', 'biweekly', 'semimonthly', 'monthly']),
    { field: 'ssn', passes: [ABSENT, '123-45-6789', '123456789'] },
    noOtherField,
  ]);
});

t.test('an employee has an address and a list of pay rates', async (t) => {
  checkRules(t, employee, samples.employee, [
    {
      field: 'address.state',
      passes: ['WY'],
      fails: ['ZZ'],
      problem: 'address.state: must be a US state code',
    },
    { field: 'address', fails: ['1 Main Street', null], problem: 'address: must be an object' },
    {
      field: 'pay_rate',
      passes: [[], [samples.payRate, samples.payRate]],
      fails: [samples.payRate, null],
      problem: 'pay_rate: must be an array',
    },
    { field: 'pay_rate.0', fails: ['25.50'], problem: 'pay_rate[0]: must be an object' },
    {
      field: 'pay_rate.0.period',
      passes: ['annually'],
      fails: ['monthly'],
      problem: 'pay_rate[0].period: must be one of annually, hourly',
    },
  ]);
});
