import t from 'tap';
import { alignedMoney, money } from '../../src/console/elements/format.ts';
import {
  changesBetween,
  sentence,
  spanOf,
  stateOn,
  type Terms,
} from '../../src/console/pages/ledger/terms.ts';
import { previousVersion, type Version } from '../../src/console/pages/ledger/versions.ts';

const TERMS: Terms = {
  employee_id: 'emp-1',
  line_of_coverage: 'medical',
  member_contribution: '150.00',
  employer_contribution: '0.00',
  period: 'monthly',
  taxability: 'pre_tax',
  effective_start: '2026-01-01T05:31:56Z',
};
const says = (fields: Partial<Terms>) => sentence({ ...TERMS, ...fields });

t.test('the amounts of a column align at the decimal point', async (t) => {
  const amounts = ['150', '1.2345', '0.00000000001'];
  const aligned = [`$150.00${'\u2007'.repeat(4)}`, `$1.2345${'\u2007'.repeat(2)}`, '$0.00000000001'];
  t.strictSame(amounts.map(alignedMoney(amounts)), aligned);
  t.equal(alignedMoney(['150'])('150'), '$150.00');
});

t.test('a deduction is described in one sentence', async (t) => {
  t.equal(sentence(TERMS), '$150.00 monthly from the employee, pre-tax, medical, from Jan 1, 2026 on');
  t.equal(
    says({
      member_contribution: '+15.5',
      employer_contribution: '350',
      period: 'biweekly',
      taxability: 'post_tax',
      line_of_coverage: 'dependent_care_fsa',
      coverage_type: 'member_family',
      effective_end: '2026-12-31',
    }),
    '$15.50 every two weeks from the employee, $350.00 from the employer, post-tax, dependent care FSA (member family), ' +
      'from Jan 1, 2026 through Dec 31, 2026',
  );
  t.match(says({ period: 'weekly' }), '$150.00 weekly');
  t.match(says({ period: 'semimonthly' }), '$150.00 twice a month');
  const { effective_start: _, ...open } = TERMS;
  t.match(sentence(open), 'with no start or end date');
  const never = 'never in effect: it ends on Dec 31, 2025, before it starts';
  t.match(says({ effective_end: '2025-12-31' }), never);
});

t.test('a deduction is in effect from its first through its last day', async (t) => {
  const span = { from: '2026-01-01', until: '2026-01-31' };
  const on = (day: string) => stateOn(span, day)[0];
  t.equal(on('2025-12-31'), 'starts Jan 1, 2026');
  t.equal(on('2026-01-01'), 'in effect');
  t.equal(on('2026-01-31'), 'in effect');
  t.equal(on('2026-02-01'), 'ended Jan 31, 2026');
  t.equal(stateOn({ from: null, until: null }, '0001-01-01')[0], 'in effect');
  t.equal(stateOn({ from: '2026-02-01', until: '2026-01-01' }, '2026-01-15')[0], 'never in effect');
});

t.test('only the date parts of effective times count, as written', async (t) => {
  const span = spanOf({ ...TERMS, effective_end: '2026-12-31T23:59:59-10:00' });
  t.strictSame(span, { from: '2026-01-01', until: '2026-12-31' });
});

t.test('each changed field is listed, including those added or removed', async (t) => {
  t.strictSame(changesBetween(TERMS, TERMS), []);
  t.strictSame(changesBetween(TERMS, { ...TERMS, member_contribution: '150.0' }), [], 'the same amount');
  const after: Terms = { ...TERMS, member_contribution: '175.0', effective_end: '2026-12-31' };
  t.strictSame(changesBetween(TERMS, after), [
    { what: 'employee contribution', before: '$150.00', after: '$175.00' },
    { what: 'end date', before: null, after: 'Dec 31, 2026' },
  ]);
  const removed = { what: 'end date', before: 'Dec 31, 2026', after: null };
  t.strictSame(changesBetween(after, { ...TERMS, member_contribution: '175.0' }), [removed]);
  const other = { what: 'employee', before: 'emp-1', after: 'emp-2' };
  t.strictSame(changesBetween(TERMS, { ...TERMS, employee_id: 'emp-2' }), [other]);
});

t.test('money is formatted without losing a digit', async (t) => {
  for (const [amount, shown] of [
    ['1205.27', '$1,205.27'],
    ['-3', '−$3.00'],
    ['+0015.5', '$15.50'],
    ['0.00', '$0.00'],
    ['1234567.8955', '$1,234,567.8955'],
    ['9'.repeat(20), '$99,999,999,999,999,999,999.00'],
    ['n/a', 'n/a'],
    [null, '–'],
  ] as const) {
    t.equal(money(amount), shown);
  }
});

const version = (number: number, day: number, late = false) =>
  ({ version: number, event_time: `2026-01-0${day}T00:00:00.000000000Z`, late }) as Version;
const [first, second, third] = [version(1, 1), version(2, 3), version(3, 5)];
const late = version(4, 4, true);
const older = [third, second, first];

t.test('a late version is compared with the version before it by event time, not by recording', async (t) => {
  t.equal(previousVersion(late, older, true), second);
  t.equal(previousVersion(version(5, 3, true), older, true), second, 'at equal times the one recorded later');
});

t.test('a version after a late one is compared with the latest', async (t) => {
  t.equal(previousVersion(version(5, 6), [late, ...older], true), third);
  t.equal(previousVersion(version(5, 6), [late, third], false), third, 'other versions do not matter');
});

t.test('the previous version is unknown when it was not read', async (t) => {
  t.equal(previousVersion(first, [], true), null);
  t.equal(previousVersion(late, older, false), 'unknown');
  t.equal(previousVersion(version(5, 6), [late], false), 'unknown');
  t.equal(previousVersion(version(4, 1, true), [version(1, 2)], true), null, 'older than all');
});
