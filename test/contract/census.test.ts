import t from 'tap';
import { census } from '../../src/contract/census.ts';
import { describe } from '../../src/contract/check.ts';
import { changed, checkRules, noOtherField, required } from './rules.ts';
import * as samples from './samples.ts';

t.test('a census follows the interface', async (t) => {
  checkRules(t, census, samples.census, [
    ...required('organization', 'employees', 'organization.fein', 'employees.0.dob'),
    {
      field: 'employees',
      passes: [[samples.employee, samples.employee]],
      fails: [[]],
      problem: 'employees: must have at least 1 element',
    },
    { field: 'employees', fails: [null, samples.employee], problem: 'employees: must be an array' },
    { field: 'organization', fails: ['Acme', null], problem: 'organization: must be an object' },
    { field: '', passes: [samples.census], fails: [[], null, 'census', 1], problem: 'must be an object' },
    noOtherField,
  ]);
});

t.test('a problem names the row and the field', async (t) => {
  const employees = Array.from({ length: 20 }, () => samples.employee);
  const body = changed({ ...samples.census, employees }, 'employees.17.address.state', 'ZZ');
  t.same(census.problems(body).map(describe), ['employees[17].address.state: must be a US state code']);
});

t.test('every invalid field of every row is named, up to the limit', async (t) => {
  const bad = { ...samples.employee, dob: 'x', email: 'x' };
  const body = { ...samples.census, employees: [bad, samples.employee, bad] };
  const fields = ['employees[0].dob', 'employees[0].email', 'employees[2].dob', 'employees[2].email'];
  t.same(
    census.problems(body).map((problem) => problem.path),
    fields,
  );
  t.same(
    census.problems(body, 3).map((problem) => problem.path),
    fields.slice(0, 3),
  );
});
