import t from 'tap';
import { Contact, census, ENTITY_TYPES, organization } from '../../src/contract/census.ts';
import { compile, describe } from '../../src/contract/check.ts';
import { Address, employee, PayRate, US_STATES } from '../../src/contract/employee.ts';
import {
  ABSENT,
  among,
  atMost,
  changed,
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

const address = compile(Address);

t.test('an address follows the interface', async (t) => {
  checkRules(t, address, samples.address, [
    ...required('line1', 'city', 'state', 'zip_code'),
    ...text('line1', 'line2', 'city', 'zip_code'),
    passes('state', ...US_STATES),
    fails(
      'state: must be the code of one of the 50 states or DC: the service accepts no others',
      'XX',
      'ny',
      'PR',
      'New York',
      '',
      36,
      null,
    ),
    noOtherField,
  ]);
});

t.test('there are 50 states and the District of Columbia', async (t) => {
  const named =
    'AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO ' +
    'MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY';
  t.same(US_STATES, named.split(' '));
  t.equal(US_STATES.length, 51);
});

const contact = compile(Contact);

t.test('a contact follows the interface', async (t) => {
  checkRules(t, contact, samples.contact, [
    ...required('first_name', 'last_name', 'email'),
    ...text('first_name', 'last_name'),
    passes('email', "o'brien+benefits@mail.example.com", 'X_1@EXAMPLE.ORG', `a@${'b'.repeat(63)}.com`),
    fails(
      'email: must be one e-mail address such as name@example.org, without accents or a dot before the @',
      ...'a a@ @b.co a@b a@b@c.de a..b@c.de a@-b.co'.split(' '),
      ...['', 'a b@c.de', '"a b"@c.de', 'a@b.co\n', 5],
    ),
    noOtherField,
  ]);
});

const payRate = compile(PayRate);

t.test('a pay rate follows the interface', async (t) => {
  checkRules(t, payRate, samples.payRate, [
    ...required('amount', 'period', 'effective_start'),
    passes('amount', '0', '0.00', '7', '25.5', '123456.78', '9'.repeat(15)),
    fails(
      'amount: must be an amount of 0 or more with at most 2 decimals, as a string',
      ...'-1 -0.01 25.505 1e3 1,000 $5 .5 5. ٣'.split(' '),
      ...[' 5', '5\n', '', '9'.repeat(16), 25.5, null],
    ),
    ...among('period', ['annually', 'hourly']),
    ...days('effective_start'),
    noOtherField,
  ]);
});

const longEmail = (length: number) => `${'a'.repeat(length - '@example.com'.length)}@example.com`;

t.test('an employee of a census follows the interface', async (t) => {
  checkRules(t, employee, samples.employee, [
    ...required(...Object.keys(samples.employee)),
    ...identifiers('employee_id'),
    ...text('first_name', 'last_name', 'hours_worked', 'ssn', 'phone_number', 'job_title'),
    ...['first_name', 'last_name', 'job_title'].flatMap((field) => atMost(field, 255)),
    // Characters, not the 16-bit units of JavaScript or the bytes of UTF-8.
    ...atMost('first_name', 255, '😀'),
    ...atMost('phone_number', 10, '5'),
    ...days('dob', 'hire_date', 'termination_date'),
    passes('email', 'a@b.co'),
    fails(
      'email: must be one e-mail address such as name@example.org, without accents or a dot before the @',
      'a@b',
      null,
    ),
    passes('email', longEmail(254)),
    fails('email: must be at most 254 characters', longEmail(255)),
    ...among('employment_status', ['full_time', 'part_time']),
    ...among('biological_sex', ['male', 'female']),
    ...among('pay_frequency', ['weekly', 'biweekly', 'semimonthly', 'monthly']),
    passes('ssn', ABSENT, '123-45-6789', '123456789'),
    noOtherField,
  ]);
});

t.test('an employee has an address and a list of pay rates', async (t) => {
  checkRules(t, employee, samples.employee, [
    passes('address.state', 'WY'),
    fails(
      'address.state: must be the code of one of the 50 states or DC: the service accepts no others',
      'ZZ',
    ),
    fails('address: must be an object', '1 Main Street', null),
    passes('pay_rate', [], [samples.payRate, samples.payRate]),
    fails('pay_rate: must be an array', samples.payRate, null),
    fails('pay_rate[0]: must be an object', '25.50'),
    passes('pay_rate.0.period', 'annually'),
    fails('pay_rate[0].period: must be one of annually, hourly', 'monthly'),
  ]);
});

t.test('an organization follows the interface', async (t) => {
  checkRules(t, organization, samples.organization, [
    ...required('legal_business_name', 'fein', 'contact', 'address', 'contact.email', 'address.state'),
    ...text('legal_business_name', 'fein', 'contact.first_name', 'address.line1'),
    ...among('entity_type', ENTITY_TYPES),
    passes('entity_type', ABSENT),
    fails('contact: must be an object', null, 'Ada', [samples.contact]),
    fails('address: must be an object', null, [samples.address]),
    passes('address.country', ABSENT),
    fails('address.country: is not a field of the interface', 'US'),
    noOtherField,
  ]);
  t.same(ENTITY_TYPES, 'C-Corp; S-Corp; B-Corp; LLC; Non-profit; Sole Proprietor'.split('; '));
});

t.test('a census follows the interface', async (t) => {
  checkRules(t, census, samples.census, [
    ...required('organization', 'employees', 'organization.fein', 'employees.0.dob'),
    passes('employees', [samples.employee, samples.employee]),
    fails('employees: must have at least 1 element', []),
    fails('employees: must be an array', null, samples.employee),
    fails('organization: must be an object', 'Acme', null),
    passes('', samples.census),
    fails('must be an object', [], null, 'census', 1),
    noOtherField,
  ]);
});

t.test('a problem names the row and the field', async (t) => {
  const employees = Array.from({ length: 20 }, () => samples.employee);
  const body = changed({ ...samples.census, employees }, 'employees.17.address.state', 'ZZ');
  t.same(census.problems(body).map(describe), [
    'employees[17].address.state: must be the code of one of the 50 states or DC: the service accepts no others',
  ]);
});

t.test('every invalid field of every row is named, up to the limit', async (t) => {
  const bad = { ...samples.employee, dob: 'x', email: 'x' };
  const body = { ...samples.census, employees: [bad, samples.employee, bad] };
  const fields = ['employees[0].dob', 'employees[0].email', 'employees[2].dob', 'employees[2].email'];
  const paths = (most?: number) => census.problems(body, most).map(({ path }) => path);
  t.same(paths(), fields);
  t.same(paths(3), fields.slice(0, 3));
});
