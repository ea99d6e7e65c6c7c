import t from 'tap';
import Type from 'typebox';
import { census } from '../../src/contract/census.ts';
import { type Checker, compile, describe, PROBLEMS_MAX } from '../../src/contract/check.ts';
import { deduction } from '../../src/contract/deduction.ts';
import { maskSsn, maskSsnsIn } from '../../src/contract/employee.ts';
import { compensationChange, newHire, termination } from '../../src/contract/employment.ts';
import { envelope, syncData } from '../../src/contract/events.ts';
import { closed } from '../../src/contract/fields.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { changed } from './rules.ts';
import * as samples from './samples.ts';

const CANARY = '123-45-6789';

const resources: [string, Checker<unknown>, object][] = [
  ['census', census, samples.census],
  ['newHire', newHire, { ...samples.newHire, ssn: '1', phone_number: '1', termination_date: '2026-01-01' }],
  ['termination', termination, samples.termination],
  ['compensationChange', compensationChange, { ...samples.compensationChange, pay_rate: samples.payRate }],
  [
    'deduction',
    deduction,
    { ...samples.deduction, effective_end: null, coverage_type: null, description: null },
  ],
  ['envelope', envelope, { ...samples.envelope, created_at: null, id: null }],
  ['syncData', syncData, samples.syncData],
];

/** Returns every field of a body, including inner objects and the body itself. */
function fieldsOf(value: unknown, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return [at];
  const inner = Object.entries(value);
  return [at, ...inner.flatMap(([name, field]) => fieldsOf(field, at ? `${at}.${name}` : name))];
}

t.test('no problem contains the value of a field', async (t) => {
  const texts = [CANARY, CANARY.repeat(100), `${CANARY}@`];
  const wrong = [...texts, 123456789, [CANARY], { line1: CANARY }, null, true];
  let seen = 0;
  for (const [name, checker, good] of resources) {
    for (const field of fieldsOf(good)) {
      for (const value of wrong) {
        const body = changed(good, field, value);
        const problems = checker.problems(body);
        seen += problems.length;
        const text = problems.map(describe).join('\n');
        if (/123|6789/.test(text)) t.fail(`a value of ${name}.${field} is shown`, { text });
        if (checker.accepts(body) !== (text === ''))
          t.fail(`problems and accepts differ on ${name}.${field}`, { text });
      }
    }
  }
  t.ok(seen > 300, 'most values were rejected, and none was shown');
});

t.test('a field has one problem, however many of its rules are broken', async (t) => {
  const code = Type.String({ minLength: 9, pattern: '^x', format: 'date', rule: 'r' });
  const checker = compile(Type.Object({ code }));
  t.same(checker.problems({ code: 'abc' }), [{ path: 'code', rule: 'must have at least 9 characters' }]);
});

t.test('a rule without a text names its keyword', async (t) => {
  const checker = compile(Type.Object({ count: Type.Number({ minimum: 1 }) }));
  t.same(checker.problems({ count: 0 }), [{ path: 'count', rule: 'must satisfy minimum' }]);
});

t.test('an unknown field is named only when its name looks like one in the interface', async (t) => {
  const list = Type.Array(Type.Object({}, { additionalProperties: false }));
  const checker = compile(Type.Object({ list }));
  const pathsFor = (name: string) => checker.problems({ list: [{ [name]: 1 }] }).map(({ path }) => path);
  for (const name of ['shoe_size', 'constructor', 'x'.repeat(64)])
    t.same(pathsFor(name), [`list[0].${name}`]);
  const others = [
    ...['odd name', '17', '999-88-7777', 'a/b~c"d', '~1', 'a.b', '', 'line\n', 'Zoë'],
    ...['x'.repeat(65), 'x'.repeat(100_000)],
  ];
  for (const name of others) t.same(pathsFor(name), ['list[0][…]'], JSON.stringify(name.slice(0, 20)));
});

t.test('problems beyond the limit are dropped', async (t) => {
  const letters = (at: number) => String(at).replace(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));
  const unknown = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [letters(at), 1]));
  const body = { ...samples.termination, ...unknown, termination_date: 'x' };
  t.equal(termination.problems(body).length, PROBLEMS_MAX);
  t.equal(termination.problems(body, 1).length, 1);
});

t.test('only the last four digits of an SSN are shown, however it is written', async (t) => {
  for (const ssn of ['123-45-6789', '123456789', '123 45 6789']) t.equal(maskSsn(ssn), '***-**-6789', ssn);
  t.equal(maskSsn('12345'), '***-**-2345');
  for (const ssn of ['XXX-XX-6789', '6789', '', 'none']) t.equal(maskSsn(ssn), '***-**-****', ssn);
});

t.test('every SSN in a text is masked, and no other number', async (t) => {
  t.equal(maskSsnsIn('123-45-6789, 987654321; 111 22 3333.'), '***-**-6789, ***-**-4321; ***-**-3333.');
  const other = 'at 2026-03-31, zip 12207-1234, id 1234567890';
  t.equal(maskSsnsIn(other), other);
  t.equal(maskSsnsIn('known: 12.34.56.789', '12.34.56.789'), 'known: ***-**-6789');
  t.equal(maskSsnsIn('nothing', ''), 'nothing');
});

t.test('counting finds as many problems as listing, in objects, lists and unknown fields', async (t) => {
  const wrong = [
    1,
    null,
    'x',
    '',
    [],
    [1],
    {},
    { x: 1, y: 2, 'a b': 3, 'c d': 4 },
    true,
    [{}, { amount: 'x' }],
  ];
  for (const [name, checker, good] of resources) {
    for (const field of [...fieldsOf(good), 'unknown', '0 1', 'pay_rate']) {
      for (const value of wrong) {
        const body = changed(good, field, value);
        const [count, listed] = [checker.count(body), checker.problems(body).length];
        if (count !== listed) t.fail(`${name}.${field}`, { value, count, listed });
      }
    }
    t.equal(checker.count(good), 0, name);
  }
});

t.test('a list whose elements must differ is refused in a time that grows with its length', async (t) => {
  const checker = compile(closed({ ids: Type.Array(Type.String(), { uniqueItems: true, rule: 'r' }) }));
  t.same(checker.problems({ ids: ['a', 1, 'a'], x: 1 }), [
    { path: 'ids', rule: 'r' },
    { path: 'x', rule: 'is not a field of the interface' },
  ]);
  t.same(checker.problems({ ids: ['a', 'b'] }), []);
  const timeOf = async (elements: number) => {
    const ids = Array(elements).fill('a');
    return (await cpuTime(() => checker.problems({ ids }))).cpuMs;
  };
  await timeOf(20_000);
  const [short, long] = [await timeOf(20_000), await timeOf(200_000)];
  t.ok(long < 40 * (short + 5), `ten times as many take ${long} ms instead of ${short} ms`);
});

t.test('the elements of a list that is too long are not checked', async (t) => {
  const list = Type.Array(closed({ id: Type.String() }), { maxItems: 2, rule: 'r' });
  const checker = compile(closed({ list, name: Type.String() }));
  const unread = Object.defineProperty({}, 'id', { enumerable: true, get: () => t.fail('read') });
  t.same(checker.problems({ list: Array(3).fill(unread) }), [
    { path: 'list', rule: 'r' },
    { path: 'name', rule: 'is required' },
  ]);
});
