/** Lines of a run as people see them: what is deducted, what changed, what to look at, and how it came about. */
import type { Line } from '../payroll/calculation/line.ts';
import { type Output, printable } from './output.ts';

/** The longest line of coverage has 31 characters; an amount of 9 has six digits before the point. */
const WIDTH = { coverage: 32, amount: 10 };

/** Prints lines, those of an employee below its id. Widths are fixed: a page does not know what the next one holds. */
export function printLines(out: Output, lines: readonly Line[]): void {
  for (const [index, line] of lines.entries()) {
    if (line.employee_id !== lines[index - 1]?.employee_id) {
      out.print(out.colour('bold', printable(line.employee_id)));
    }
    printLine(out, line);
  }
}

function printLine(out: Output, line: Line): void {
  const amounts = [line.member_amount, line.employer_amount].map((amount) => amount.padStart(WIDTH.amount));
  const told = [
    line.taxability,
    line.kind === 'regular' ? '' : `${line.kind} of ${line.adjustment_for}`,
    changeOf(line),
    line.payroll_code === null ? '' : `code ${line.payroll_code}`,
  ].filter((text) => text !== '');
  const flags = line.flags.length === 0 ? '' : `  ${out.colour('yellow', line.flags.join(', '))}`;
  out.print(
    `  ${line.line_of_coverage.padEnd(WIDTH.coverage)}${amounts.join('')}  ${printable(told.join(', '))}${flags}`,
  );
  for (const text of sentencesOf(line)) out.print(`    ${out.colour('dim', printable(text))}`);
}

/** How the amounts came about: the employee's, the employer's, and of an adjustment the difference. */
export function sentencesOf({ explanation }: Line): string[] {
  return explanation.split('; plus ');
}

/** Against the previous finalized run: what the employee paid then, where that is not what is paid now. */
export function changeOf({ change, previous_amount, member_amount }: Line): string {
  if (change === 'changed' && previous_amount !== member_amount) return `changed from ${previous_amount}`;
  return change === 'ended' ? `ended, was ${previous_amount}` : (change ?? '');
}
