import t from 'tap';
import { COVERAGE_TYPES, deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../src/contract/deduction.ts';
import { ABSENT, among, checkRules, identifiers, type Rule, required } from './rules.ts';
import * as samples from './samples.ts';

const digits = '1234567890'.repeat(4);

function contribution(field: string): Rule {
  return {
    field,
    passes: ['0', '150', '150.0', '150.00', '-1.50', '+3', '007', `${digits}.${digits}`],
    fails: [
      150,
      1.5,
      '',
      '-',
      '.5',
      '5.',
      '1e3',
      '1E400',
      'NaN',
      'Infinity',
      '0x10',
      '1,000.00',
      '$5',
      ' 5',
      '5\n',
      '--1',
      '1.2.3',
      '٣',
      `${digits}1`,
      `1.${digits}1`,
      null,
    ],
    problem: `${field}: must be a plain decimal number as a string, at most 40 digits on each side of the point`,
  };
}

function effective(field: string): Rule {
  return {
    field,
    passes: [
      '2026-01-01T00:00:00Z',
      '2026-01-01T05:31:56Z',
      '2026-01-01T23:59:59.999-05:00',
      '2026-01-01',
      '9999-12-31T23:59:59-05:00',
      null,
      ABSENT,
    ],
    fails: [
      '2026-02-30T00:00:00Z',
      '2026-02-30',
      '2026-01-01T25:00:00Z',
      '2026-01-01T',
      'tomorrow',
      '',
      1767225600,
    ],
    problem: `${field}: must be a date or an ISO 8601 timestamp, of a real day`,
  };
}

t.test('a deduction follows the interface', async (t) => {
  checkRules(t, deduction, samples.deduction, [
    ...required(...Object.keys(samples.deduction)),
    ...identifiers('id', 'employee_id'),
    among('line_of_coverage', LINES_OF_COVERAGE),
    contribution('member_contribution'),
    contribution('employer_contribution'),
    among('period', ['weekly', 'biweekly', 'semimonthly', 'monthly']),
    among('taxability', TAXABILITIES),
    among('coverage_type', COVERAGE_TYPES),
    {
      field: 'description',
      passes: ['', 'Gold PPO 500'],
      fails: [5],
      problem: 'description: must be a string',
    },
    effective('effective_start'),
    effective('effective_end'),
  ]);
});

t.test('the closed sets of a deduction equal those in the interface', async (t) => {
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
    { field: 'plan', passes: ['unknown fields pass', null, { deep: [1] }] },
    { field: 'coverage_type', passes: [null, ABSENT] },
    { field: 'description', passes: [null, ABSENT] },
  ]);
});
