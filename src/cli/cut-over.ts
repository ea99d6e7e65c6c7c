/** The commands that compare payroll's lists before the first run. */
import type { ResultOf } from '../api/operation.ts';
import { compareCutOverList, signCutOverList } from '../api/operations/cut-over.ts';
import type { Command } from './command.ts';
import { printRepairs } from './file-formats.ts';
import { addOperation } from './operation-command.ts';
import { type Column, counted, employeeId, type Output, printTable } from './output.ts';

const FILE = 'employee_id; for deductions also the terms of an import, and for the service id';

export function addCutOverCommands(program: Command): void {
  const cutOver = program.subcommand(
    'cut-over',
    'Compare what payroll and the service have, before the first run.',
  );
  addOperation(cutOver, 'compare', compareCutOverList, {
    description: 'Compare a list with the roster or the ledger. The exit code is 0 if they agree.',
    examples: [
      'people people.csv --employer maple-bakery',
      'deductions payroll.csv --employer maple-bakery',
      'service export.csv --employer maple-bakery --json',
    ],
    arguments: ['list'],
    file: FILE,
    isTable: true,
    print: printComparison,
    exitCode: ({ differences, unknown_employees }) => (differences + unknown_employees === 0 ? 0 : 1),
  });
  addOperation(cutOver, 'sign', signCutOverList, {
    description: 'Sign off a list that was compared.',
    examples: ['people people.csv --employer maple-bakery --etag ETAG --reason "Two started today"'],
    arguments: ['list'],
    file: FILE,
    print: (out, { list, differences, signed_off }) =>
      out.print(`Signed off: ${list}, with ${counted(differences + signed_off, 'difference')}`),
  });
}

type Comparison = ResultOf<typeof compareCutOverList>;

const COLUMNS: readonly Column<Comparison['shown'][number]>[] = [
  ['difference', ({ difference }) => difference.replaceAll('_', ' ')],
  ['employee', employeeId],
  ['deduction', ({ deduction_id }) => deduction_id, 2],
  ['coverage', ({ line_of_coverage }) => line_of_coverage],
  ['taxability', ({ taxability }) => taxability, 1],
  ['here', ({ here }) => here],
  ['file', ({ file }) => file],
  ['signed off', ({ signed_off }) => (signed_off ? 'yes' : null), 1],
];

function printComparison(
  out: Output,
  { repairs, same, differences, signed_off, missing_ids, unknown_employees, shown, etag }: Comparison,
) {
  printRepairs(out, repairs);
  if (shown.length > 0) printTable(out, COLUMNS, shown);
  out.print(`${counted(same, 'entry agrees', 'entries agree')}; ${counted(differences, 'difference')}`);
  if (signed_off > 0) out.print(`${counted(signed_off, 'difference')} signed off before`);
  if (missing_ids > 0) out.print(`${counted(missing_ids, 'deduction')} without an ID of the service`);
  if (unknown_employees > 0)
    out.print(`${counted(unknown_employees, 'employee')} not employed here: compare the list people`);
  out.note(`ETag: ${etag}`);
}
