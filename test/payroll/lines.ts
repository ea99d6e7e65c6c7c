/** A sample line of a run. */
import { type Line, type LineRecord, lineOf as lineOfRecord } from '../../src/payroll/calculation/line.ts';

export function lineOf(fields: Partial<LineRecord>): Line {
  return lineOfRecord({
    employee_id: 'emp-1',
    deduction_id: 'ded-1',
    version: 3,
    line_of_coverage: 'medical',
    coverage_type: null,
    taxability: 'pre_tax',
    payroll_code: null,
    employer_payroll_code: null,
    employer_treatment: null,
    description: null,
    period: 'monthly',
    member_contribution: '150.00',
    employer_contribution: '350',
    member_amount: '69.24',
    employer_amount: '161.54',
    kind: 'regular',
    adjustment_for: null,
    opening_id: null,
    item_id: null,
    outstanding_after: null,
    adjustment_pay_date: null,
    because: null,
    shares: null,
    change: null,
    replaces_deduction_id: null,
    amount_change: null,
    member_difference: null,
    employer_difference: null,
    previous_amount: null,
    flags: [],
    explanation: 'as computed',
    ...fields,
  });
}
