import { readFileSync } from 'node:fs';
import t from 'tap';
import { CENSUS_ROWS } from '../../src/census/reading.ts';
import { Employee } from '../../src/contract/employee.ts';
import { readHeader } from '../../src/formats/csv.ts';

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

t.test('an endless header is rejected early', async (t) => {
  const columns = (count: number) => Array.from({ length: count }, (_, n) => `c_${n}`);
  t.equal(readHeader(columns(1_000), CENSUS_ROWS).problems.length, 1_000);
  t.throws(() => readHeader(columns(1_001), CENSUS_ROWS), {
    code: 'UNREADABLE',
    message: 'must have at most 1000 columns',
  });
});
