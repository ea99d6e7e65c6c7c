import type { Line } from '../../payroll/calculation/line.ts';
import { changeOf, sentencesOf } from '../run-line.ts';

/** The demo is read in terminals of 100 columns, and `tell` indents by 3. */
const WIDTH = { row: 96, coverage: 8, amount: 9 };
const INDENT = '     ';

/** Tells a line of a run, and below it what to look at and how each of its amounts came about. */
export function tellLine(tell: (text: string) => void, line: Line): void {
  const { employee_id, line_of_coverage, member_amount, employer_amount, flags } = line;
  const what = line.kind === 'regular' ? changeOf(line) : `${line.kind} for ${line.adjustment_for}`;
  const [coverage, member, employer] = [
    line_of_coverage.padEnd(WIDTH.coverage),
    member_amount.padStart(WIDTH.amount),
    employer_amount.padStart(WIDTH.amount),
  ];
  tell(`${employee_id}  ${coverage}${member} +${employer}  ${what}`);
  const told = [...sentencesOf(line), ...(flags.length > 0 ? [`flags: ${flags.join(', ')}`] : [])];
  for (const sentence of told) for (const row of wrapped(sentence)) tell(`${INDENT}${row}`);
}

/** Breaks between words; what goes on is indented. */
function wrapped(sentence: string): string[] {
  const room = WIDTH.row - INDENT.length;
  const rows: string[] = [];
  for (const word of sentence.split(' ')) {
    const row = rows.at(-1);
    if (row !== undefined && row.length + 1 + word.length <= room) rows[rows.length - 1] = `${row} ${word}`;
    else rows.push(row === undefined ? word : `  ${word}`);
  }
  return rows;
}
