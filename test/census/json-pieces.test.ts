import t from 'tap';
import { checkCensus } from '../../src/census/check.ts';
import { CENSUS_BYTES_MAX } from '../../src/census/reading.ts';
import { slices } from '../../src/formats/bytes.ts';
import { parts } from '../formats/read.ts';
import fc from '../support/seeded.ts';
import { censusOf, contentOf, organization, person } from './parts.ts';

async function read(...all: (string | Uint8Array)[]) {
  const ids: string[] = [];
  const report = await checkCensus({ format: 'json', content: parts(...all) }, ({ employee }) => {
    ids.push(employee.employee_id);
  });
  return { ids, ...report };
}

const good = censusOf([person('e-1', { first_name: 'Zoë 😀' }), person('e-2')]);

t.test('a census is read however its bytes are split', async () => {
  const bytes = Buffer.from(good);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const { ids, problems } = await read(
        ...at.slice(1).map((end, index) => bytes.subarray(at[index], end)),
      );
      return problems.length === 0 && ids.join() === 'e-1,e-2';
    }),
    { numRuns: 50 },
  );
});

t.test('a census is read byte by byte, with a byte order mark, and with the organization last', async (t) => {
  const text = JSON.stringify({ employees: [person('e-1'), person('e-2')], organization }, null, 2);
  const bytes = Buffer.from(`\uFEFF${text}\n`);
  const whole = await read(...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
  t.strictSame(whole.problems, []);
  t.strictSame(whole.ids, ['e-1', 'e-2']);
  t.strictSame(whole.organization, organization);
});

t.test('a row that is not strict JSON is one problem, and the following rows are read', async (t) => {
  const dob = '"dob":"1990-12-09"';
  const bad = [
    good.replace(dob, `${dob},${dob}`),
    good.replace(dob, `${dob},"__proto__":{}`),
    good.replace(dob, '"dob":"\\u0000"'),
    good.replace(dob, '"dob":"\\ud800"'),
    good.replace(dob, `"dob":${'['.repeat(40)}${']'.repeat(40)}`),
  ];
  for (const text of bad) {
    const { problems, employees } = await read(text);
    t.match(problems, [{ path: 'employees[0]' }]);
    t.equal(employees, 2);
  }
});

t.test('unknown fields of a census are reported', async (t) => {
  const { problems } = await read(censusOf([person('e-1')], { version: 2, 'odd name': {} }));
  t.strictSame(problems, [
    { path: 'version', rule: 'is not a field of the interface' },
    { path: '[…]', rule: 'is not a field of the interface' },
  ]);
});

t.test('reading a census stops when it is aborted', async (t) => {
  const stopped = AbortSignal.abort(new Error('stopped'));
  await t.rejects(checkCensus(contentOf(good), undefined, stopped), { message: 'stopped' });
});

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
  const rule = 'is the same as employees[0].employee_id: keep one row of each employee, or correct the ID';
  t.strictSame(report.problems, [
    { path: 'employees[2].employee_id', rule },
    { path: 'employees[3].employee_id', rule },
  ]);
});

t.test('an id above the limit is not kept', async (t) => {
  const long = 'x'.repeat(1_000);
  const { problems } = await checkCensus(contentOf(censusOf([person(long), person(long)])));
  const rules = problems.map(({ rule }) => rule);
  t.strictSame(rules, ['must be at most 255 characters', 'must be at most 255 characters']);
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

t.test('an endless field is rejected in bounded memory', async (t) => {
  let sent = 0;
  async function* endless(begin: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from(begin);
    for (;;) {
      sent += 1;
      yield Buffer.alloc(64 * 1024, 'x');
    }
  }
  for (const begin of ['{"employees":["', '{"organization":"', '{"', '{"employees":[{"a":"']) {
    sent = 0;
    const report = await checkCensus({ format: 'json', content: endless(begin) });
    t.match(report.problems, [{ rule: 'must be at most 1 MiB' }]);
    t.ok(sent <= 18, `${sent} parts were read`);
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
