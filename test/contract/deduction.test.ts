import t from 'tap';
import { COVERAGE_TYPES, deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../src/contract/deduction.ts';
import { ABSENT, among, checkRules, fails, identifiers, passes, type Rule, required } from './rules.ts';
import * as samples from './samples.ts';

const digits = '1234567890'.repeat(4);

const AMOUNT = 'must be a plain decimal number as a string, at most 40 digits on each side of the point';

function contribution(field: string): Rule[] {
  return [
    passes(field, '0', '150', '150.0', '150.00', '-1.50', '+3', '007', `${digits}.${digits}`),
    fails(
      `${field}: ${AMOUNT}`,
      ...'- .5 5. 1e3 1E400 NaN Infinity 0x10 1,000.00 $5 --1 1.2.3 ٣'.split(' '),
      ...[150, 1.5, null, '', ' 5', '5\n', `${digits}1`, `1.${digits}1`],
    ),
  ];
}

function effective(field: string): Rule[] {
  return [
    passes(
      field,
      '2026-01-01T00:00:00Z',
      '2026-01-01T05:31:56Z',
      '2026-01-01T23:59:59.999-05:00',
      '2026-01-01',
      '9999-12-31T23:59:59-05:00',
      null,
      ABSENT,
    ),
    fails(
      `${field}: must be a date or an ISO 8601 timestamp, of a real day`,
      ...'2026-02-30T00:00:00Z 2026-02-30 2026-01-01T25:00:00Z 2026-01-01T tomorrow'.split(' '),
      '',
      1767225600,
    ),
  ];
}

t.test('a deduction follows the interface', async (t) => {
  checkRules(t, deduction, samples.deduction, [
    ...required(...Object.keys(samples.deduction)),
    ...identifiers('id', 'employee_id'),
    ...among('line_of_coverage', LINES_OF_COVERAGE),
    ...contribution('member_contribution'),
    ...contribution('employer_contribution'),
    ...among('period', ['weekly', 'biweekly', 'semimonthly', 'monthly']),
    ...among('taxability', TAXABILITIES),
    ...among('coverage_type', COVERAGE_TYPES),
    passes('description', '', 'Gold PPO 500'),
    fails('description: must be a string', 5),
    ...effective('effective_start'),
    ...effective('effective_end'),
  ]);
});

t.test('the closed sets of a deduction equal the sets in the interface', async (t) => {
  const lines = [
    'accident accidental_death cancer commuter_transit dental',
    'dependent_care_fsa healthcare_fsa hospital_indemnity hsa life',
    'limited_purpose_fsa long_term_disability medical short_term_disability supplemental',
    'vision voluntary_critical_illness voluntary_life voluntary_accidental_death voluntary_short_term_disability',
  ];
  t.same(LINES_OF_COVERAGE, lines.join(' ').split(' '));
  t.same(TAXABILITIES, ['pre_tax', 'post_tax']);
  t.same(COVERAGE_TYPES, 'member member_spouse member_child member_children member_family'.split(' '));
});

t.test('unknown fields of a deduction are accepted', async (t) => {
  checkRules(t, deduction, samples.deduction, [
    passes('plan', 'unknown fields pass', null, { deep: [1] }),
    passes('coverage_type', null, ABSENT),
    passes('description', null, ABSENT),
  ]);
});
