import t from 'tap';
import { keyProblem } from '../../src/employment/accept.ts';
import { bytesOf, checkChange } from '../../src/employment/change.ts';
import { factsOf as factsWithNulls } from '../../src/employment/facts.ts';
import { type Employment, employmentsOf } from '../../src/ledger/employment.ts';
import { type NewFact, reportOf } from '../../src/ledger/roster.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../src/outbox/manual.ts';
import { address, demographic, newHire, payRate } from '../contract/samples.ts';
import { changeOf, SAMPLES } from './stage.ts';

const TODAY = '2026-06-01';

/** The attributes that a change states. Null is the same as none. */
const factsOf = (...given: Parameters<typeof factsWithNulls>) =>
  factsWithNulls(...given).map((fact) =>
    Object.fromEntries(Object.entries(fact).filter(([, value]) => value !== null)),
  );

const at = (employer_id: string, changes: Partial<NewFact> = {}): NewFact => ({
  employee_id: 'emp-1',
  employer_id,
  hire_date: '2020-01-01',
  pay_frequency: 'biweekly',
  absent: 0,
  ...changes,
});

/** The employments known from a census. */
const known = (...facts: NewFact[]): Employment[] =>
  employmentsOf(
    facts.map((fact, index) =>
      reportOf(fact, { source: 'census', source_id: `c-${index}` }, index + 1, {
        ...{ recorded_at: '2026-01-05T00:00:00.000Z', received_on: '2026-01-05' },
      }),
    ),
  );

const hire = (fields: object) => changeOf('new-hire', { ...newHire, employer_id: 'a', ...fields });
const leave = (termination_date: string) =>
  changeOf('termination', { employee_id: 'emp-1', termination_date });
const pay = (fields: object) => changeOf('compensation-change', { employee_id: 'emp-1', ...fields });
const of = (employer_id: string, stated: Partial<NewFact>) => ({
  employee_id: 'emp-1',
  employer_id,
  ...stated,
});

t.test('a new hire states the facts of the report for its employer', async (t) => {
  const full = { hire_date: '2024-02-29', pay_frequency: 'weekly', employment_status: 'part_time' };
  t.strictSame(factsOf(hire(full), known(at('b')), TODAY), [of('a', { ...full, absent: 0 })]);
  const short = { hire_date: '2024-02-29', employment_status: 'full_time' };
  t.strictSame(factsOf(hire(short), known(at('a')), TODAY), [of('a', { ...short, absent: 0 })]);
  t.match(factsOf(hire({ termination_date: '2026-12-31' }), [], TODAY), [{ termination_date: '2026-12-31' }]);
});

t.test('a termination applies to the employment that is active on its date', async (t) => {
  t.strictSame(factsOf(leave('2026-07-31'), known(at('a')), TODAY), [
    of('a', { termination_date: '2026-07-31' }),
  ]);
  const moved = known(at('a', { hire_date: '2019-01-01' }), at('b', { hire_date: '2026-02-01' }));
  const left = factsOf(leave('2026-01-31'), moved, TODAY);
  t.strictSame(left, [of('a', { termination_date: '2026-01-31' })], 'even if reported late');
  const staying = factsOf(leave('2026-02-01'), moved, TODAY);
  t.match(staying, [{ employer_id: 'a' }, { employer_id: 'b' }], 'of both');
});

t.test('a termination without an active employment applies to the absent, else the newest', async (t) => {
  const absent = known(at('a', { absent: 1 }), at('b', { hire_date: '2026-02-01' }));
  t.match(factsOf(leave('2026-01-31'), absent, TODAY), [{ employer_id: 'a' }]);
  const ended = known(
    at('b', { termination_date: '2024-12-31' }),
    at('a', { termination_date: '2026-03-31' }),
  );
  t.match(factsOf(leave('2026-04-30'), ended, TODAY), [{ employer_id: 'a', termination_date: '2026-04-30' }]);
});

t.test('a compensation change has the date of its pay rate', async (t) => {
  t.strictSame(factsOf(pay({ pay_frequency: 'monthly' }), known(at('a')), TODAY), [
    of('a', { pay_frequency: 'monthly' }),
  ]);
  const rate = { ...payRate, effective_start: '2026-08-03' };
  t.strictSame(factsOf(pay({ employment_status: 'variable_hours', pay_rate: rate }), known(at('a')), TODAY), [
    of('a', { employment_status: 'variable_hours', effective_on: '2026-08-03' }),
  ]);
  t.strictSame(factsOf(pay({ pay_rate: rate }), known(at('a')), TODAY), [], 'the roster has no pay rates');
});

t.test('a compensation change applies to the employer on its effective date', async (t) => {
  const moving = known(at('a', { termination_date: '2026-07-31' }), at('b', { hire_date: '2026-08-01' }));
  t.match(factsOf(pay({ pay_frequency: 'monthly' }), moving, TODAY), [{ employer_id: 'a' }]);
  const rate = { ...payRate, effective_start: '2026-08-03' };
  const later = factsOf(pay({ pay_frequency: 'monthly', pay_rate: rate }), moving, TODAY);
  t.strictSame(later, [of('b', { pay_frequency: 'monthly', effective_on: '2026-08-03' })]);
});

t.test('a demographic change has no facts, and an unknown employee only facts of a hire', async (t) => {
  const changes = [
    leave('2026-07-31'),
    pay({ pay_frequency: 'monthly' }),
    changeOf('demographic', demographic),
  ];
  for (const change of changes) t.strictSame(factsOf(change, [], TODAY), [], change.kind);
  t.strictSame(factsOf(changeOf('demographic', demographic), known(at('a')), TODAY), []);
});

const bytes = (kind: ChangeKind, body: object): string => bytesOf(changeOf(kind, body)).toString('utf8');

t.test('a body is checked against the contract of its kind only', async (t) => {
  for (const kind of CHANGE_KINDS) {
    const change = { ok: true, change: { kind, body: SAMPLES[kind], effectiveOn: null, payGroup: null } };
    t.strictSame(checkChange(kind, SAMPLES[kind]), change);
    for (const other of CHANGE_KINDS.filter((one) => one !== kind))
      t.equal(checkChange(kind, SAMPLES[other]).ok, false, `${other} as ${kind}`);
  }
});

t.test('every kind accepts an effective date, which is checked and not sent', async (t) => {
  for (const kind of CHANGE_KINDS) {
    const dated = checkChange(kind, { ...SAMPLES[kind], effective_on: '2026-08-03' });
    t.match(dated, { ok: true, change: { effectiveOn: '2026-08-03' } });
    t.equal(dated.ok && bytesOf(dated.change).toString('utf8'), bytes(kind, SAMPLES[kind]), kind);
    for (const effective_on of ['2026-02-30', '2026-08-03T00:00:00Z', '', null, 20260803]) {
      t.match(checkChange(kind, { ...SAMPLES[kind], effective_on }), {
        ok: false,
        problems: [{ path: 'effective_on', rule: 'must be a real date, YYYY-MM-DD' }],
      });
    }
  }
});

t.test('a date before 1940 is refused', async (t) => {
  const refused = (kind: ChangeKind, fields: object) => checkChange(kind, { ...SAMPLES[kind], ...fields });
  const cases: readonly [ChangeKind, object, string][] = [
    ['new-hire', { hire_date: '0206-03-02' }, 'hire_date'],
    ['new-hire', { termination_date: '0001-01-01' }, 'termination_date'],
    ['termination', { termination_date: '0026-10-10' }, 'termination_date'],
    ['demographic', { effective_on: '1939-12-31' }, 'effective_on'],
    [
      'compensation-change',
      { pay_rate: { ...payRate, effective_start: '0026-08-03' } },
      'pay_rate.effective_start',
    ],
  ];
  for (const [kind, fields, path] of cases)
    t.match(
      refused(kind, fields),
      { ok: false, problems: [{ path, rule: 'must be 1940-01-01 or later' }] },
      path,
    );
  t.match(refused('new-hire', { hire_date: '1940-01-01' }), { ok: true });
});

t.test('at most a given number of problems is reported', async (t) => {
  const all = checkChange('new-hire', {});
  const some = checkChange('new-hire', {}, 3);
  t.ok(!all.ok && all.problems.length === 11);
  t.ok(!some.ok && some.problems.length === 3);
});

t.test('the body is sent with sorted fields and values as given', async (t) => {
  const { employee_id, ...rest } = newHire;
  const one = { ...rest, pay_rate: [payRate, { ...payRate, amount: '25.5' }], employee_id, employer: 'Acme' };
  const sent = bytes('new-hire', one);
  t.strictSame(JSON.parse(sent), one);
  const { employer, ...others } = one;
  const other = { employer, ...others, address: Object.fromEntries(Object.entries(address).reverse()) };
  t.equal(bytes('new-hire', other), sent);
  const turned = { ...one, pay_rate: one.pay_rate.toReversed() };
  t.not(bytes('new-hire', turned), sent, 'the order of a list matters');
  t.not(bytes('new-hire', { ...one, job_title: '' }), sent, 'an empty text matters');
});

t.test('a key is 1 to 255 visible ASCII characters', async (t) => {
  for (const key of ['a', '!', '~', 'k'.repeat(255), '3c1f-"x"/\\'])
    t.equal(keyProblem('key', key), null, key);
  for (const key of ['', ' ', 'a b', 'k'.repeat(256), '\u00e9', 'a\n', '\u007f', 7, null, undefined, {}])
    t.match(keyProblem('key', key), { path: 'key', rule: /255 visible ASCII/ }, JSON.stringify(key));
});
