/** A line of a run: what one deduction takes from one employee's paycheck. */
import type { PayFrequency } from '../../contract/employee.ts';
import { AMOUNT_FLAGS } from './amounts.ts';

/** The amount zero, as lines store it. */
export const NOTHING = '0.00';

export const LINE_KINDS = ['regular', 'adjustment', 'arrears'] as const;
export type LineKind = (typeof LINE_KINDS)[number];

/** How the election changed since the previous run. */
export const CHANGES = ['new', 'changed', 'ended', 'moved', 'same'] as const;
export type Change = (typeof CHANGES)[number];

/** Why the amounts differ from the previous run. */
export const AMOUNT_CHANGES = ['same', 'rounding', 'calendar', 'changed'] as const;
export type AmountChange = (typeof AMOUNT_CHANGES)[number];

/** Conditions to review. */
export const FLAGS = [
  ...AMOUNT_FLAGS,
  /** The newest census lacks the employee, and no termination is known. */
  'absent_from_census',
  /** Coverage lasts beyond the last pay period, within the month of the termination: a final check may take the rest. */
  'coverage_beyond_last_check',
  /** A check that the employee should have had in an earlier run. */
  'missed_check',
  /** The same, for a pay period that other runs of the employee cover in part: never taken. */
  'missed_check_partial',
  /** The employee is no longer in a run of this employer: there is no paycheck to settle it on. */
  'no_further_paycheck',
  /** The employment has ended, and the deduction has not. */
  'open_after_termination',
  /** Two deductions of the employee for the same line of coverage are in effect. */
  'overlap',
  /** The first or last line of a deduction that is not in effect on all checks of the cycle. */
  'partial_cycle',
  /** The line settles a run of another tax year. */
  'prior_year',
  /** Shown, but not deducted. */
  'reported',
  /** The employee's pre-tax deductions for the line of coverage rise after the fact. */
  'retro_pre_tax',
  /** They fall after the fact. */
  'retro_refund',
] as const;
export type Flag = (typeof FLAGS)[number];

export type Line = {
  employee_id: string;
  deduction_id: string;
  /** Which version of the deduction; null where the line is of no single version (arrears). */
  version: number | null;
  line_of_coverage: string;
  coverage_type: string | null;
  taxability: string;
  payroll_code: string | null;
  employer_payroll_code: string | null;
  /** How payroll treats the employer amount: a deposit or a memo. Null if no code states it. */
  employer_treatment: 'deposit' | 'memo' | null;
  description: string | null;
  period: PayFrequency | null;
  /** As received; null where the line is of no single version. */
  member_contribution: string | null;
  employer_contribution: string | null;
  /** For this paycheck, with two decimals. */
  member_amount: string;
  employer_amount: string;
  kind: LineKind;
  /** The finalized run that an adjustment or an arrears line settles. */
  adjustment_for: string | null;
  /** Against the previous finalized run; null for adjustments and arrears. */
  change: Change | null;
  /** Null for adjustments, for arrears, and without a previous run. */
  amount_change: AmountChange | null;
  previous_amount: string | null;
  /** Amounts less those of the previous run; null if `amount_change` is. */
  member_difference: string | null;
  employer_difference: string | null;
  flags: Flag[];
  explanation: string;
};

/** Identifies a line among those of its employee in its run. A run may settle a deduction under two taxabilities. */
export function lineKey({
  kind,
  deduction_id,
  adjustment_for,
  line_of_coverage,
  taxability,
}: Pick<Line, 'kind' | 'deduction_id' | 'adjustment_for' | 'line_of_coverage' | 'taxability'>): string {
  const own = `${kind} ${deduction_id}`;
  return adjustment_for === null ? own : `${own} ${adjustment_for} ${line_of_coverage} ${taxability}`;
}

/** Reports whether the line is deducted. */
export function isIncluded(line: Pick<Line, 'flags'>): boolean {
  return !line.flags.includes('reported');
}
