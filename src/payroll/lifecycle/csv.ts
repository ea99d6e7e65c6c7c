import type { Readable } from 'node:stream';
import { csvOf, harmless } from '../../formats/csv.ts';
import { amountOf, amountOrNull } from '../../money.ts';
import type { Line } from '../calculation/line.ts';
import type { Run } from '../records/body.ts';

type RunOfLines = Pick<Run, 'period_start' | 'period_end' | 'pay_date'> & { run_id?: string };

type Column = {
  readonly name: string;
  /** The text is a number and is written unchanged. Other texts are made harmless for spreadsheets. */
  readonly isNumber?: true;
  readonly of: (line: Line, run: RunOfLines) => string | null;
};

/** The columns, in order. Payroll systems read this format, so new columns are added at the end. */
const COLUMNS: readonly Column[] = [
  { name: 'run_id', of: (_, run) => run.run_id ?? null },
  { name: 'period_start', of: (_, run) => run.period_start },
  { name: 'period_end', of: (_, run) => run.period_end },
  { name: 'pay_date', of: (_, run) => run.pay_date },
  { name: 'employee_id', of: (line) => line.employee_id },
  { name: 'deduction_id', of: (line) => line.deduction_id },
  { name: 'version', isNumber: true, of: ({ version }) => (version === null ? null : String(version)) },
  { name: 'line_of_coverage', of: (line) => line.line_of_coverage },
  { name: 'coverage_type', of: (line) => line.coverage_type },
  { name: 'taxability', of: (line) => line.taxability },
  { name: 'payroll_code', of: (line) => line.payroll_code },
  { name: 'employer_payroll_code', of: (line) => line.employer_payroll_code },
  { name: 'employer_treatment', of: (line) => line.employer_treatment },
  { name: 'description', of: (line) => line.description },
  { name: 'period', of: (line) => line.period },
  { name: 'member_contribution', isNumber: true, of: (line) => line.member_contribution },
  { name: 'employer_contribution', isNumber: true, of: (line) => line.employer_contribution },
  { name: 'member_amount', isNumber: true, of: (line) => amountOf(line.member_amount) },
  { name: 'employer_amount', isNumber: true, of: (line) => amountOf(line.employer_amount) },
  { name: 'kind', of: (line) => line.kind },
  { name: 'adjustment_for', of: (line) => line.adjustment_for },
  { name: 'change', of: (line) => line.change },
  { name: 'previous_amount', isNumber: true, of: (line) => amountOrNull(line.previous_amount) },
  { name: 'flags', of: (line) => line.flags.join(' ') },
  { name: 'explanation', of: (line) => line.explanation },
  { name: 'amount_change', of: (line) => line.amount_change },
  { name: 'member_difference', isNumber: true, of: (line) => amountOrNull(line.member_difference) },
  { name: 'employer_difference', isNumber: true, of: (line) => amountOrNull(line.employer_difference) },
  { name: 'adjustment_pay_date', of: (line) => line.adjustment_pay_date },
  { name: 'replaces_deduction_id', of: (line) => line.replaces_deduction_id },
  { name: 'opening_id', of: (line) => line.opening_id },
  { name: 'item_id', of: (line) => line.item_id },
  { name: 'outstanding_after', isNumber: true, of: (line) => amountOrNull(line.outstanding_after) },
];

export const CSV_COLUMNS: readonly string[] = COLUMNS.map((column) => column.name);

/** Returns the lines of a run as CSV in UTF-8. Each page is formatted on request, so memory stays flat. */
export function csvOfLines(run: RunOfLines, pages: AsyncIterable<readonly Line[]>): Readable {
  return csvOf(CSV_COLUMNS, pages, (line) => cellsOf(line, run));
}

function cellsOf(line: Line, run: RunOfLines): string[] {
  return COLUMNS.map(({ of, isNumber }) => {
    const text = of(line, run) ?? '';
    return isNumber ? text : harmless(text);
  });
}
