import t from 'tap';
import { keyProblem } from '../../src/employment/accept.ts';
import { bytesOf, checkChange } from '../../src/employment/change.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../src/outbox/manual.ts';
import {
  address,
  compensationChange,
  demographic,
  newHire,
  payRate,
  termination,
} from '../contract/samples.ts';

const BODIES: Record<ChangeKind, object> = {
  'new-hire': newHire,
  termination,
  demographic,
  'compensation-change': compensationChange,
};

const bytes = (kind: ChangeKind, body: object): string => {
  const checked = checkChange(kind, body);
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
  return bytesOf(checked.change).toString('utf8');
};

t.test('a body is checked against the contract of its kind only', async (t) => {
  for (const kind of CHANGE_KINDS) {
    t.strictSame(checkChange(kind, BODIES[kind]), {
      ok: true,
      change: { kind, body: BODIES[kind], effectiveOn: null, payGroup: null },
    });
    for (const other of CHANGE_KINDS.filter((one) => one !== kind)) {
      t.equal(checkChange(kind, BODIES[other]).ok, false, `${other} as ${kind}`);
    }
  }
});

t.test('every kind accepts an effective date, which is checked and not sent', async (t) => {
  for (const kind of CHANGE_KINDS) {
    const dated = checkChange(kind, { ...BODIES[kind], effective_on: '2026-08-03' });
    t.match(dated, { ok: true, change: { effectiveOn: '2026-08-03' } });
    t.equal(dated.ok && bytesOf(dated.change).toString('utf8'), bytes(kind, BODIES[kind]), kind);
    for (const effective_on of ['2026-02-30', '2026-08-03T00:00:00Z', '', null, 20260803]) {
      t.match(checkChange(kind, { ...BODIES[kind], effective_on }), {
        ok: false,
        problems: [{ path: 'effective_on', rule: 'must be a real date, YYYY-MM-DD' }],
      });
    }
  }
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
  for (const key of ['', ' ', 'a b', 'k'.repeat(256), '\u00e9', 'a\n', '\u007f', 7, null, undefined, {}]) {
    t.match(keyProblem('key', key), { path: 'key', rule: /255 visible ASCII/ }, JSON.stringify(key));
  }
});
