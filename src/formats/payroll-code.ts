/** What payroll codes distinguish. */
import { COVERAGE_TYPES, LINES_OF_COVERAGE, TAXABILITIES } from '../contract/deduction.ts';

export const SIDES = ['employee', 'employer'] as const;

/** One code for each line of coverage, taxability (or any), coverage type (or any) and side. */
export const CODES_MAX =
  LINES_OF_COVERAGE.length * (TAXABILITIES.length + 1) * (COVERAGE_TYPES.length + 1) * SIDES.length;
