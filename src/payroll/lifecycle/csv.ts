import type { Readable } from 'node:stream';
import { csvOf, harmless } from '../../formats/csv.ts';
import type { LineRecord } from '../calculation/line.ts';
import type { RunDates } from '../records/body.ts';

type RunOfLines = RunDates & { run_id?: string };

/** The columns, in order. Payroll systems read this format, so new columns are added at the end. */
const COLUMNS = [
  'run_id',
  'period_start',
  'period_end',
  'pay_date',
  'employee_id',
  'deduction_id',
  'version',
  'line_of_coverage',
  'coverage_type',
  'taxability',
  'payroll_code',
  'employer_payroll_code',
  'employer_treatment',
  'description',
  'period',
  'member_contribution',
  'employer_contribution',
  'member_amount',
  'employer_amount',
  'kind',
  'adjustment_for',
  'change',
  'previous_amount',
  'flags',
  'explanation',
  'amount_change',
  'member_difference',
  'employer_difference',
  'adjustment_pay_date',
  'replaces_deduction_id',
  'item_id',
  'outstanding_after',
] as const;

export const CSV_COLUMNS: readonly string[] = COLUMNS;

/** The texts of other columns are made harmless for spreadsheets. */
const NUMBERS: ReadonlySet<string> = new Set([
  'version',
  'member_contribution',
  'employer_contribution',
  'member_amount',
  'employer_amount',
  'previous_amount',
  'member_difference',
  'employer_difference',
  'outstanding_after',
]);

/** Returns the lines of a run as CSV in UTF-8. Each page is formatted on request, so memory stays flat. */
export function csvOfLines(run: RunOfLines, pages: AsyncIterable<readonly LineRecord[]>): Readable {
  return csvOf(CSV_COLUMNS, pages, (line) => cellsOf(line, run));
}

function cellsOf(
  line: LineRecord,
  { run_id = '', period_start, period_end, pay_date }: RunOfLines,
): string[] {
  const values = { ...line, flags: line.flags.join(' '), run_id, period_start, period_end, pay_date };
  return COLUMNS.map((name) => {
    const value = values[name];
    if (value === null) return '';
    return NUMBERS.has(name) ? String(value) : harmless(String(value));
  });
}
