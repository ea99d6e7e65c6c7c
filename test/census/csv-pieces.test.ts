import { readFileSync } from 'node:fs';
import t from 'tap';
import { checkCensus } from '../../src/census/check.ts';
import { CENSUS_ROWS } from '../../src/census/reading.ts';
import { Employee } from '../../src/contract/employee.ts';
import { readHeader } from '../../src/formats/csv.ts';
import { parts } from '../formats/read.ts';
import { organization } from './parts.ts';

const CELLS: Readonly<Record<string, string>> = {
  employee_id: '',
  first_name: 'Grace',
  last_name: 'Murray',
  dob: '1990-12-09',
  'address.line1': '1 Main Street',
  'address.line2': '',
  'address.city': 'Albany',
  'address.state': 'NY',
  'address.zip_code': '12207',
  hire_date: '2020-02-29',
  email: 'grace@example.org',
  hours_worked: '40',
  'pay_rate[0].amount': '25.50',
  'pay_rate[0].period': 'hourly',
  'pay_rate[0].effective_start': '2025-01-01',
  employment_status: 'full_time',
  pay_group: '',
};
const HEADER = Object.keys(CELLS);
const row = (employee_id: string, fields: Record<string, string> = {}): string =>
  Object.values({ ...CELLS, employee_id, ...fields }).join();
const lines = (...rows: string[]): string => [HEADER.join(), ...rows, ''].join('\r\n');

async function read(text: string | Uint8Array, separate: unknown = organization) {
  const rows: { employee: Employee; payGroup: string | null }[] = [];
  const bytes = separate === null ? null : Buffer.from(JSON.stringify(separate));
  const census = { format: 'csv', content: parts(text), organization: bytes } as const;
  const report = await checkCensus(census, (each) => {
    rows.push(each);
  });
  return { rows, ...report };
}

t.test('cells become the fields named by their columns, and an empty cell is an absent field', async (t) => {
  const { rows, problems } = await read(
    lines(row('e-1', { first_name: '"Grace ""G"""', pay_group: 'north' }), row('e-2')),
  );
  t.strictSame(problems, []);
  const address = { line1: '1 Main Street', city: 'Albany', state: 'NY', zip_code: '12207' };
  t.strictSame(rows[0]?.employee.address, address);
  t.strictSame(rows[0]?.employee.pay_rate, [
    { amount: '25.50', period: 'hourly', effective_start: '2025-01-01' },
  ]);
  t.equal(rows[0]?.employee.first_name, 'Grace "G"');
  const groups = rows.map(({ payGroup }) => payGroup);
  t.strictSame(groups, ['north', null]);
});

t.test('a pay rate after an empty one makes the empty one invalid', async (t) => {
  const header = `${HEADER.join()},pay_rate[2].amount`;
  const { problems } = await read(`${header}\n${row('e-1')},9.00\n${row('e-2')},\n`);
  t.strictSame(
    problems.map(({ path }) => path).sort(),
    [
      ...['amount', 'effective_start', 'period'].map((field) => `employees[0].pay_rate[1].${field}`),
      ...['effective_start', 'period'].map((field) => `employees[0].pay_rate[2].${field}`),
    ].sort(),
  );
});

t.test('unknown and duplicate columns are reported', async (t) => {
  const odd = [
    ...'nickname address address. pay_rate.amount pay_rate[99].amount constructor dob'.split(' '),
    '',
  ];
  const text = `${[...HEADER, ...odd].join()}\n${row('e-1')},,,,,,,,\n`;
  const { problems } = await read(text);
  t.strictSame(
    problems.map(({ path }) => path),
    ['the file', ...[18, 19, 20, 21, 22, 23].map((number) => `column ${number}`), 'dob'],
  );
});

t.test('the separate organization is required and checked', async (t) => {
  t.match((await read(lines(row('e-1')), null)).problems, [{ path: 'organization', rule: 'is required' }]);
  t.match((await read(lines(row('e-1')), { ...organization, fein: 1 })).problems, [
    { path: 'organization.fein' },
  ]);
  const bad = { format: 'csv', content: parts(lines(row('e-1'))), organization: Buffer.from('{') } as const;
  t.match((await checkCensus(bad)).problems, [{ path: 'organization', rule: 'is not valid JSON' }]);
});

type Schema = { type?: string; properties?: Record<string, Schema>; items?: Schema };

/** The paths of the text fields of an employee, with one element of each array. */
function leaves(schema: Schema, path = ''): string[] {
  if (schema.items) return leaves(schema.items, `${path}[0]`);
  if (!schema.properties) return [path];
  return Object.entries(schema.properties).flatMap(([name, field]) =>
    leaves(field, path === '' ? name : `${path}.${name}`),
  );
}

const columns = leaves(Employee as Schema);

t.test('every text field of an employee is a column', async (t) => {
  t.ok(columns.includes('address.line1') && columns.includes('pay_rate[0].amount'));
  const { problems, rowOf } = readHeader([...columns, 'pay_group', 'effective_on'], CENSUS_ROWS);
  t.strictSame(problems, []);
  const filled = rowOf([...columns, 'north', '2026-08-03']);
  t.match(filled, {
    employee_id: 'employee_id',
    address: { line1: 'address.line1' },
    pay_rate: [{ amount: 'pay_rate[0].amount' }],
    pay_group: 'north',
    effective_on: '2026-08-03',
  });
});

t.test('the document lists exactly these columns', async (t) => {
  const document = readFileSync(new URL('../../docs/census.md', import.meta.url), 'utf8');
  const [, table = ''] = document.split('| column | required |');
  const [rows = ''] = table.split('\n\n');
  const listed = [...rows.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string);
  const others = ['pay_rate[1].amount', 'pay_rate[49]', 'pay_group', 'effective_on'];
  t.strictSame(listed.filter((name) => !others.includes(name)).sort(), columns.toSorted());
});
