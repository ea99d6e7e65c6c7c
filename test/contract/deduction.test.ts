import t from 'tap';
import { COVERAGE_TYPES, deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../src/contract/deduction.ts';
import { compensationChange, demographic, newHire, termination } from '../../src/contract/employment.ts';
import { EVENT_TYPES, envelope, syncData } from '../../src/contract/events.ts';
import {
  ABSENT,
  among,
  checkRules,
  days,
  fails,
  identifiers,
  noOtherField,
  passes,
  type Rule,
  required,
  text,
} from './rules.ts';
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
    passes(field, '2026-01-01T05:31:56Z', '2026-01-01T23:59:59.999-05:00', '2026-01-01'),
    passes(field, '9999-12-31T23:59:59-05:00', null, ABSENT),
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

t.test('an envelope follows the interface', async (t) => {
  checkRules(t, envelope, samples.envelope, [
    ...required('event_type', 'data'),
    passes('id', 'evt-1', null, ABSENT),
    fails('id: must be a string', 1),
    passes('event_type', ...EVENT_TYPES, 'some.other-type'),
    fails('event_type: must have at least 1 character', ''),
    fails('event_type: must be a string', null, 1),
    passes('data', {}, { any: 1 }),
    fails('data: must be an object', null, [], 'x'),
    passes('created_at', '2026-01-05T05:31:56Z', '2026-01-05T05:31:56.123+02:00', null, ABSENT),
    fails(
      'created_at: must be an ISO 8601 date and time',
      ...['2026-01-05', '2026-02-30T00:00:00Z', '2026-01-05T24:00:00Z', 'yesterday', '', 1767591116],
    ),
    passes('unknown', 'passes'),
    fails('must be an object', [], null, 'x'),
  ]);
});

t.test('a census event names an employer', async (t) => {
  checkRules(t, syncData, samples.syncData, [
    ...required('employer_id'),
    ...identifiers('employer_id'),
    passes('unknown', 'passes'),
  ]);
});

t.test('a new hire is an employee with an employer', async (t) => {
  checkRules(t, newHire, samples.newHire, [
    ...required(...Object.keys(samples.newHire)),
    ...identifiers('employer_id', 'employee_id'),
    ...text('employer'),
    passes('employer', ABSENT),
    fails('employer: must have at least 1 character', ''),
    ...days('termination_date', 'dob'),
    ...among('employment_status', ['full_time', 'part_time']),
    passes('pay_rate', [samples.payRate]),
    fails('pay_rate: must be an array', samples.payRate),
    noOtherField,
  ]);
});

t.test('a termination names an employee and a day', async (t) => {
  checkRules(t, termination, samples.termination, [
    ...required('employee_id', 'termination_date'),
    ...identifiers('employee_id'),
    ...days('termination_date'),
    noOtherField,
  ]);
});

t.test('a demographic change names an employee and an address', async (t) => {
  checkRules(t, demographic, samples.demographic, [
    ...required('employee_id', 'address', 'address.line1'),
    ...identifiers('employee_id'),
    passes('address.state', 'DC'),
    fails(
      'address.state: must be the code of one of the 50 states or DC: the service accepts no others',
      'D.C.',
    ),
    noOtherField,
  ]);
});

const NO_AMOUNT = 'pay_rate.amount: is required';

t.test('a compensation change follows the interface', async (t) => {
  checkRules(t, compensationChange, samples.compensationChange, [
    ...required('employee_id'),
    ...identifiers('employee_id'),
    ...among('pay_frequency', ['weekly', 'biweekly', 'semimonthly', 'monthly']),
    ...among('employment_status', ['full_time', 'part_time', 'variable_hours']),
    passes('pay_rate', samples.payRate),
    fails('pay_rate: must be an object', [samples.payRate], null, '25.50'),
    { field: 'pay_rate', values: [{ period: 'hourly', effective_start: '2026-01-01' }], problem: NO_AMOUNT },
    noOtherField,
  ]);
});

t.test('a compensation change has at least one field in addition to the employee', async (t) => {
  const { employee_id } = samples.compensationChange;
  checkRules(t, compensationChange, samples.compensationChange, [
    passes(
      '',
      { employee_id, pay_frequency: 'weekly' },
      { employee_id, pay_rate: samples.payRate },
      { employee_id, employment_status: 'variable_hours' },
    ),
    fails('must have at least one of pay_frequency, pay_rate, employment_status', { employee_id }),
  ]);
});
