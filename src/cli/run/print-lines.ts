/** Prints the lines of runs for people. */
import type { ResultOf } from '../../api/operation.ts';
import type { listPayrollRunLines } from '../../api/operations/payroll-run-lines.ts';
import { dollars } from '../../money.ts';
import { type Output, printable, WIDTH, wrapped } from '../output.ts';

/** The name is there with `--names`. */
export type ShownLine = ResultOf<typeof listPayrollRunLines>['data'][number] & {
  readonly name?: string | null;
};
type ComputedLine = Omit<ShownLine, 'unapplied'>;

/** The longest line of coverage has 31 characters. An amount above `$9,999.99` widens its row. */
const COVERAGE_WIDTH = 31;
const LINE_AMOUNT_WIDTH = 9;

/**
 * Prints lines below the id of their employee, which `previous` of the preceding page may have printed. Widths are
 * fixed, because pages are printed before the next one is known.
 */
export function printLines(out: Output, lines: readonly ShownLine[], previous?: ShownLine): void {
  for (const [index, line] of lines.entries()) {
    if (line.employee_id !== (lines[index - 1] ?? previous)?.employee_id) {
      const name = line.name ? `  ${line.name}` : '';
      out.print(out.color('bold', printable(line.employee_id + name)));
    }
    printLine(out, line);
  }
}

function printLine(out: Output, line: ShownLine): void {
  const amounts = [line.member_amount, line.employer_amount].map((amount) =>
    dollars(amount).padStart(LINE_AMOUNT_WIDTH),
  );
  const details = [
    line.taxability,
    line.kind === 'regular' ? '' : `${line.kind} of ${line.adjustment_for ?? line.item_id}`,
    changeOf(line),
    amountChangeOf(line),
    line.payroll_code === null ? '' : `code ${line.payroll_code}`,
  ].filter((text) => text !== '');
  const start = `  ${[line.line_of_coverage.padEnd(COVERAGE_WIDTH), ...amounts].join(' ')}  `;
  const text = printable(details.join(', '));
  const isInline = start.length + text.length <= WIDTH;
  out.print(start + (isInline ? text : line.taxability));
  if (!isInline) printIndented(out, 'bold', details.slice(1).join(', '));
  printIndented(out, 'yellow', line.flags.join(', '));
  printIndented(out, 'yellow', line.unapplied?.message ?? '');
  for (const text of sentencesOf(line)) printIndented(out, 'dim', text);
}

function printIndented(out: Output, color: Parameters<Output['color']>[0], text: string): void {
  if (text === '') return;
  for (const row of wrapped(printable(text), WIDTH - INDENT.length))
    out.print(INDENT + out.color(color, row));
}

const INDENT = '    ';

/** Returns the explanations of the amounts: the employee's, the employer's, and the difference of an adjustment. */
export function sentencesOf({ explanation }: ComputedLine): string[] {
  return explanation.split('; plus ');
}

/** Returns the change of the election against the previous finalized run. */
export function changeOf({ change, previous_amount, member_amount }: ComputedLine): string {
  const before = dollars(String(previous_amount));
  if (change === 'changed' && previous_amount !== member_amount) return `changed from ${before}`;
  return change === 'ended' || change === 'replaced' ? `${change}, was ${before}` : (change ?? '');
}

/** Returns why the amounts of a continuing election differ from the previous run, and by how much. */
function amountChangeOf({
  change,
  amount_change,
  member_difference,
  employer_difference,
}: ShownLine): string {
  const isCompared = change === 'same' || change === 'changed' || change === 'replaced';
  if (!isCompared || amount_change === null || amount_change === 'same') return '';
  return `amount change: ${amount_change} (employee ${signed(member_difference)}, employer ${signed(employer_difference)})`;
}

function signed(amount: string | null): string {
  const text = dollars(String(amount));
  return text.startsWith('$') ? `+${text}` : text;
}
