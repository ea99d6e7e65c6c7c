import t from 'tap';
import { checkCensus } from '../../src/census/check.ts';
import { CENSUS_BYTES_MAX } from '../../src/census/reading.ts';
import { slices } from '../../src/formats/bytes.ts';
import { censusOf, contentOf, organization, person } from './parts.ts';

t.test('every row and field that breaks the contract is named, without its value', async (t) => {
  const secret = 'SECRET-VALUE';
  const text = censusOf([
    person('e-1', { dob: secret, ssn: 5 }),
    person('e-2'),
    person('e-3', { address: { line1: secret, city: 'x', state: secret, zip_code: '1' }, nickname: secret }),
    secret,
    { ...person('e-5'), employee_id: '' },
  ]);
  const report = await checkCensus(contentOf(text));
  t.strictSame(
    report.problems.map(({ path }) => path),
    [
      ...'employees[0].dob employees[0].ssn employees[2].nickname employees[2].address.state'.split(' '),
      ...'employees[3] employees[4].employee_id'.split(' '),
    ],
  );
  t.equal(report.problemCount, 6);
  t.equal(report.employees, 5);
  t.notOk(JSON.stringify(report).includes(secret));
});

t.test('a duplicate employee names both rows', async (t) => {
  const report = await checkCensus(
    contentOf(censusOf([person('e-1'), person('e-2'), person('e-1'), person('e-1')])),
  );
  t.strictSame(report.problems, [
    { path: 'employees[2].employee_id', rule: 'is the same as employees[0].employee_id' },
    { path: 'employees[3].employee_id', rule: 'is the same as employees[0].employee_id' },
  ]);
});

t.test('an id above the limit is not kept', async (t) => {
  const long = 'x'.repeat(1_000);
  const { problems } = await checkCensus(contentOf(censusOf([person(long), person(long)])));
  t.strictSame(
    problems.map(({ rule }) => rule),
    ['must be at most 255 characters', 'must be at most 255 characters'],
  );
  const longest = '😀'.repeat(255);
  const twice = await checkCensus(contentOf(censusOf([person(longest), person(longest)])));
  t.match(twice.problems, [{ path: 'employees[1].employee_id', rule: /is the same as/ }]);
});

t.test('a census needs an organization and one employee', async (t) => {
  const without = await checkCensus(contentOf(JSON.stringify({ employees: [person('e-1')] })));
  t.strictSame(without.problems, [{ path: 'organization', rule: 'is required' }]);
  t.strictSame((await checkCensus(contentOf('{}'))).problems, [
    { path: 'organization', rule: 'is required' },
    { path: 'employees', rule: 'must have at least 1 element' },
  ]);
  const bad = JSON.stringify({
    organization: { ...organization, contact: { email: 'x' } },
    employees: [person('e-1')],
  });
  t.match((await checkCensus(contentOf(bad))).problems.map(({ path }) => path).sort(), [
    'organization.contact.email',
    'organization.contact.first_name',
    'organization.contact.last_name',
  ]);
});

t.test('rows are passed on until the first problem', async (t) => {
  const ids: string[] = [];
  const rows = [
    person('e-1', { pay_group: 'north' }),
    person('e-2'),
    person('e-3', { dob: 'x' }),
    person('e-4'),
  ];
  await checkCensus(contentOf(censusOf(rows)), ({ employee, payGroup }) => {
    ids.push(`${employee.employee_id} ${payGroup} ${'pay_group' in employee}`);
  });
  t.strictSame(ids, ['e-1 north false', 'e-2 null false']);
});

t.test('a pay group must be a text', async (t) => {
  for (const pay_group of [1, null, '', 'x'.repeat(256)]) {
    const { problems } = await checkCensus(contentOf(censusOf([person('e-1', { pay_group })])));
    t.match(problems, [{ path: 'employees[0].pay_group', rule: 'must be a text of 1 to 255 characters' }]);
  }
});

t.test('a census beyond 256 MiB is rejected without reading further', async (t) => {
  const part = Buffer.alloc(1024 * 1024, ' ');
  let parts = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; ; parts += 1) yield part;
  }
  let bytes = 0;
  const read = async () => {
    for await (const slice of slices(endless(), CENSUS_BYTES_MAX)) bytes += slice.length;
  };
  await t.rejects(read(), { code: 'UNREADABLE', message: 'must be at most 256 MiB' });
  t.equal(bytes, CENSUS_BYTES_MAX);
  t.equal(parts, 256);
});
