/** Lines of real runs in the form of the model's lines. */
import type { PayFrequency } from '../../../src/contract/employee.ts';
import { itemIdentity } from '../../../src/payroll/calculation/items.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import type { ModelLine } from './model.ts';

export const cents = (amount: string) => BigInt(amount.replace('.', ''));

export function modelLine(line: LineRecord): ModelLine {
  const { member_difference, employer_difference, item_id } = line;
  const item = item_id === null ? null : itemIdentity(item_id);
  return {
    employee: line.employee_id,
    deduction: line.deduction_id,
    election: {
      coverage: line.line_of_coverage,
      coverageType: line.coverage_type,
      taxability: line.taxability,
      period: line.period as PayFrequency,
      member: line.member_contribution as string,
      employer: line.employer_contribution as string,
    },
    kind: line.kind,
    of: item?.source ?? null,
    item: item?.kind ?? null,
    left: line.outstanding_after === null ? null : cents(line.outstanding_after),
    member: cents(line.member_amount),
    employer: cents(line.employer_amount),
    change: line.change,
    replaces: line.replaces_deduction_id,
    amountChange: line.amount_change,
    differences:
      member_difference === null || employer_difference === null
        ? null
        : { member: cents(member_difference), employer: cents(employer_difference) },
    flags: line.flags,
    shares: line.shares?.map(({ pay_date }) => pay_date) ?? null,
  };
}
