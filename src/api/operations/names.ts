/** The names of employees and employers, for pages and commands that show their ids. */
import Type from 'typebox';
import { legalNames } from '../../census/staged.ts';
import * as field from '../../contract/fields.ts';
import { namesOf } from '../../names/names.ts';
import { recordDaily } from '../../security/daily-records.ts';
import { actingIn } from '../auth.ts';
import { employersOf, seesEmployer } from '../employers.ts';
import { operation } from '../operation.ts';

/** More than a page shows. */
export const NAMES_AT_ONCE = 500;

const Names = field.component(
  'Names',
  {
    employees: Type.Array(
      field.closed({
        employee_id: field.text('The employee.'),
        employer_id: field.text('The employer that reported the name.'),
        first_name: field.text('The first name.'),
        last_name: field.text('The last name.'),
      }),
      { description: 'Employees whose name is known, by the newest report.' },
    ),
    employers: Type.Array(
      field.closed({
        employer_id: field.text('The employer.'),
        legal_name: field.text('The legal name in the staged census.'),
      }),
      { description: 'Employers with a staged census.' },
    ),
  },
  'The names of employees and employers. Unknown IDs are left out.',
);

export const lookUpNames = operation({
  id: 'lookUpNames',
  method: 'POST',
  path: '/v1/names',
  scope: 'names:read',
  employers: 'list',
  action: 'name.show',
  isLookUp: true,
  summary: 'Look up names',
  description:
    'Returns the names of employees by the newest census or hire, and the legal names of employers. One audit ' +
    'record for each caller, employer and day says that names were shown.',
  body: field.component(
    'NamesRequest',
    {
      employee_ids: Type.Array(field.identifier, {
        maxItems: NAMES_AT_ONCE,
        description: 'Employee IDs of payroll.',
      }),
      employer_ids: Type.Optional(
        Type.Array(field.identifier, { maxItems: NAMES_AT_ONCE, description: 'Employer IDs.' }),
      ),
    },
    'The IDs whose names are wanted.',
  ),
  response: { 200: Names },
  async run(call, parts) {
    const { db, encryptor, now } = parts;
    const { employee_ids, employer_ids = [] } = call.body;
    const employees = await namesOf(db, encryptor, employee_ids, employersOf(call));
    const seen = [...new Set(employer_ids)].filter((id) => seesEmployer(call, id));
    const legal = seen.length === 0 ? [] : await legalNames(db, encryptor, seen);
    const employers = [...legal].map(([employer_id, legal_name]) => ({ employer_id, legal_name }));
    const shown = new Set(employees.map(({ employer_id }) => employer_id));
    await recordDaily(db, actingIn(call, now()), 'name.show', [...shown]);
    return { employees, employers };
  },
});
