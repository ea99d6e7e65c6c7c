import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { PAY_FREQUENCIES } from './employee.ts';
import { identifier, nullable, oneOf } from './fields.ts';
import { TIME_MAX_CHARACTERS } from './instant.ts';
import type { Meaning } from './meant.ts';

export const LINES_OF_COVERAGE = [
  'accident',
  'accidental_death',
  'cancer',
  'commuter_transit',
  'dental',
  'dependent_care_fsa',
  'healthcare_fsa',
  'hospital_indemnity',
  'hsa',
  'life',
  'limited_purpose_fsa',
  'long_term_disability',
  'medical',
  'short_term_disability',
  'supplemental',
  'vision',
  'voluntary_critical_illness',
  'voluntary_life',
  'voluntary_accidental_death',
  'voluntary_short_term_disability',
] as const;
export type LineOfCoverage = (typeof LINES_OF_COVERAGE)[number];

export const TAXABILITIES = ['pre_tax', 'post_tax'] as const;

export const COVERAGE_TYPES = [
  'member',
  'member_spouse',
  'member_child',
  'member_children',
  'member_family',
] as const;
export type CoverageType = (typeof COVERAGE_TYPES)[number];

/** Digits on each side of the decimal point. The contract sets no precision, but arithmetic needs a bound. */
export const CONTRIBUTION_DIGITS_MAX = 40;

export const CONTRIBUTION_PATTERN = `^[+-]?[0-9]{1,${CONTRIBUTION_DIGITS_MAX}}(\\.[0-9]{1,${CONTRIBUTION_DIGITS_MAX}})?$`;

/** An exact decimal, stored as sent: `150`, `150.0` and `+150.00` are equal amounts and different texts. */
const contribution = Type.String({
  pattern: CONTRIBUTION_PATTERN,
  rule: `must be a plain decimal number as a string, at most ${CONTRIBUTION_DIGITS_MAX} digits on each side of the point`,
  meant: 'amount' satisfies Meaning,
});

/** The contract sets no limit, but responses with 1,000 rows must fit in memory: at most 16 MB. */
const DESCRIPTION_MAX_CHARACTERS = 4_000;

/** Only the date part counts, as written: samples have arbitrary times of day. */
const effectiveDay = nullable(
  Type.String({
    format: 'day-or-date-time',
    maxLength: TIME_MAX_CHARACTERS,
    rule: 'must be a date or an ISO 8601 timestamp, of a real day',
  }),
);

/** A deduction as the service sends it. Unknown fields are accepted; null means absent. */
export const Deduction = Type.Object({
  id: identifier,
  employee_id: identifier,
  line_of_coverage: oneOf(LINES_OF_COVERAGE),
  member_contribution: contribution,
  employer_contribution: contribution,
  period: oneOf(PAY_FREQUENCIES),
  taxability: oneOf(TAXABILITIES),
  coverage_type: Type.Optional(nullable(oneOf(COVERAGE_TYPES))),
  description: Type.Optional(nullable(Type.String({ maxLength: DESCRIPTION_MAX_CHARACTERS }))),
  effective_start: Type.Optional(effectiveDay),
  effective_end: Type.Optional(effectiveDay),
});
export type Deduction = Static<typeof Deduction>;

export const deduction = compile(Deduction);
