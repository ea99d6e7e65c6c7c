import t from 'tap';
import { plain } from '../../src/console/elements/format.ts';
import {
  changesBetween,
  sentence,
  spanOf,
  standing,
  type Terms,
} from '../../src/console/pages/ledger/terms.ts';

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

t.test('a deduction is said in one sentence, with amounts as they came', async (t) => {
  t.equal(
    sentence(TERMS),
    '150.00 a month from the employee, pre-tax, medical, from 2026-01-01 until further notice',
  );
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
    '+15.5 every two weeks from the employee, 350 from the employer, post-tax, dependent care FSA (member family), ' +
      'from 2026-01-01 to 2026-12-31, that day included',
  );
  t.match(says({ period: 'weekly' }), '150.00 a week');
  t.match(says({ period: 'semimonthly' }), '150.00 twice a month');
  t.match(says({ effective_start: null }), 'without a first day until further notice');
  t.match(says({ effective_end: '2025-12-31' }), 'never in effect: it ends on 2025-12-31, before it begins');
});

t.test('names of the contract are words', async (t) => {
  t.equal(plain('hsa'), 'HSA');
  t.equal(plain('voluntary_accidental_death'), 'voluntary accidental death');
});

t.test('how it stands on a day: both ends are included', async (t) => {
  const span = { from: '2026-01-01', until: '2026-01-31' };
  const on = (day: string) => standing(span, day).word;
  t.equal(on('2025-12-31'), 'begins 2026-01-01');
  t.equal(on('2026-01-01'), 'in effect');
  t.equal(on('2026-01-31'), 'in effect');
  t.equal(on('2026-02-01'), 'ended 2026-01-31');
  t.equal(standing({ from: null, until: null }, '0001-01-01').word, 'in effect');
  t.equal(standing({ from: '2026-02-01', until: '2026-01-01' }, '2026-01-15').word, 'never in effect');
});

t.test('only the date parts of effective times count, as written', async (t) => {
  t.strictSame(spanOf({ ...TERMS, effective_end: '2026-12-31T23:59:59-10:00' }), {
    from: '2026-01-01',
    until: '2026-12-31',
  });
});

t.test('what changed is named field by field, also what came or went', async (t) => {
  t.strictSame(changesBetween(TERMS, TERMS), []);
  const after: Terms = { ...TERMS, member_contribution: '150.0', effective_end: '2026-12-31' };
  t.strictSame(changesBetween(TERMS, after), [
    { what: 'employee pays', before: '150.00', after: '150.0' },
    { what: 'until', before: null, after: '2026-12-31' },
  ]);
  t.strictSame(changesBetween(after, { ...after, effective_end: null }), [
    { what: 'until', before: '2026-12-31', after: null },
  ]);
  t.strictSame(changesBetween(TERMS, { ...TERMS, employee_id: 'emp-2' }), [
    { what: 'employee', before: 'emp-1', after: 'emp-2' },
  ]);
});
