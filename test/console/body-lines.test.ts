import t from 'tap';
import { differenceOf, LINES_MAX, linesOf } from '../../src/console/pages/body-lines.ts';

const shown = (body: string) => linesOf(body)?.map((line) => line.shown);

t.test('a body is formatted as lines, and values keep their digits', async (t) => {
  const body = '{"a":1.50,"b":[1e400,-0,true],"c":{},"d":[],"e":{"f":"x, {y}: \\"z\\""},"g":null}';
  t.strictSame(shown(body), [
    '{',
    '  "a": 1.50,',
    '  "b": [',
    '    1e400,',
    '    -0,',
    '    true',
    '  ],',
    '  "c": {},',
    '  "d": [],',
    '  "e": {',
    '    "f": "x, {y}: \\"z\\""',
    '  },',
    '  "g": null',
    '}',
  ]);
  t.strictSame(shown(' "only a text" '), ['"only a text"']);
});

t.test('personal fields are masked in any spelling, and no others', async (t) => {
  const masked = [
    ...['first_name', 'Last-Name', 'employeeName', 'ssn', 'SSN_last4', 'dob', 'date_of_birth', 'ssn_last4'],
    ...['address1', 'address_2', 'address_line_3', 'phone2', 'names', 'first_names', 'emails2', 'ssns'],
    ...['national_id', 'hourly_rate', 'annual_rate', 'base_rates', 'rate_of_pay', 'pay_rate_2', 'wages'],
    ...['ethnicity', 'ethnicities_1', 'race', 'nationality', 'children', 'dependent_1', 'beneficiaries'],
    ...['line1', 'zipCode', 'cities', 'salaries'],
  ];
  for (const name of masked) {
    t.match(shown(JSON.stringify({ [name]: 'Public' })), ['{', `  "${name}": •••`, '}'], name);
  }
  const plain = [
    ...['id', 'employee_id', 'event_id', 'type', 'state', 'status', 'line_of_coverage', 'taxability'],
    ...['period', 'effective_date', 'member_contribution', 'employer_contribution', 'coverage_type', 'rate'],
    ...['created_at', 'ssn_missing', 'pay_frequency', 'pay_group', 'version', 'sha256', 'rate_2'],
    'description',
  ];
  for (const name of plain) {
    t.match(shown(JSON.stringify({ [name]: 'x' })), ['{', `  "${name}": "x"`, '}'], name);
  }
});

t.test('a personal value is masked whole, whatever its type', async (t) => {
  const values = [
    { line1: '1 Main St', city: { name: 'Springfield' } },
    ['jo@example.org'],
    5551234567,
    true,
  ];
  for (const value of values)
    t.strictSame(shown(JSON.stringify({ home_address: value })), ['{', '  "home_address": •••', '}']);
  t.match(shown('{"email": null}'), ['{', '  "email": null', '}'], 'null is not masked');
  t.ok(shown('{"\\u0073sn":"123"}')?.join('').includes('•••'), 'escaped names too');
});

t.test('bodies that look the same when masked still differ', async (t) => {
  const [one, other] = ['{"ssn":"1","a":1}', '{"ssn":"2","a":1}'].map((body) => linesOf(body) ?? []);
  t.strictSame(one?.map((line) => line.shown).join(), other?.map((line) => line.shown).join());
  t.not(one?.[1]?.whole, other?.[1]?.whole);
  t.equal(one?.[2]?.whole, other?.[2]?.whole);
});

t.test('a body that is not JSON has no lines, and a long body is cut', async (t) => {
  for (const body of ['', 'not JSON', '{"a":1,}', '<img src=x>']) t.equal(linesOf(body), null);
  t.equal(linesOf(`[${'1,'.repeat(100_000)}1]`)?.length, LINES_MAX);
  t.equal(linesOf(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)?.length, LINES_MAX);
  const [line] = shown(JSON.stringify('x'.repeat(200_000))) ?? [];
  t.ok((line ?? '').length < 3_000);
  t.match(line, /… \(198002 more characters\)$/);
});

t.test('only lines missing from the other text are marked', async (t) => {
  t.strictSame(differenceOf(['{', 'a', 'b', '}'], ['{', 'b', 'c', '}']), {
    one: [false, true, false, false],
    other: [false, false, true, false],
  });
  t.strictSame(differenceOf([], ['a']), { one: [], other: [true] });
  t.strictSame(differenceOf(['a', 'b'], ['a', 'b']), { one: [false, false], other: [false, false] });
  const long = (last: string) =>
    Array.from({ length: LINES_MAX }, (_, at) => (at === LINES_MAX - 1 ? last : `${at % 7}`));
  t.equal(differenceOf(long('x'), long('y')).one.filter(Boolean).length, 1);
});
