import { type LineRecord, NO_ITEM, NOT_COMPARED } from '../../src/payroll/calculation/line.ts';

export function recordOf(fields: Partial<LineRecord>): LineRecord {
  return {
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
    ...NO_ITEM,
    shares: null,
    ...NOT_COMPARED,
    flags: [],
    explanation: 'as computed',
    ...fields,
  };
}
