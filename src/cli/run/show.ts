/** The commands that show runs. */
import type { ResultOf } from '../../api/operation.ts';
import { listPayrollRunLines } from '../../api/operations/payroll-run-lines.ts';
import { getPayrollRun, listPayrollRuns } from '../../api/operations/payroll-runs.ts';
import { dollars } from '../../money.ts';
import { printableLines } from '../../telemetry/printable.ts';
import type { Command } from '../command.ts';
import { addOperation } from '../operation-command.ts';
import type { Column } from '../output.ts';
import { write } from '../print-file.ts';
import { printLines, type ShownLine } from './print-lines.ts';
import { printRun } from './print-run.ts';

export function addShowCommands(run: Command): void {
  addOperation(run, 'list', listPayrollRuns, {
    description: 'List payroll runs, latest pay date first.',
    examples: ['', '--employer maple-bakery --state finalized', '--pay-date 2026-07-17'],
    columns: COLUMNS,
    none: 'No matching runs.',
  });
  addOperation(run, 'show', getPayrollRun, {
    description: 'Show a run: its options, state, totals and ETag. An open run is computed now.',
    examples: ['mb-2026-07', 'mb-2026-07 --json'],
    arguments: ['run_id'],
    isTable: true,
    print: printRun,
  });
  addOperation(run, 'lines', listPayrollRunLines, {
    description: 'Print the amounts to deduct from each employee, with explanations.',
    examples: [
      'mb-2026-07 --employee maple-bakery-001',
      'mb-2026-07 --csv > lines.csv',
      'mb-2026-07 --csv --file-format payroll > payroll.csv',
    ],
    arguments: ['run_id'],
    // Every line is printed.
    without: ['download', 'cursor', 'limit'],
    async input({ out, stopped, performFiles, named }, input) {
      const file = await performFiles(listPayrollRunLines, input, 'ndjson');
      const signal = stopped();
      let previous: ShownLine | undefined;
      for await (const rows of file.rows as AsyncIterable<ShownLine[]>) {
        const lines = await named(rows);
        if (out.asJson) await write(out, lines.map(jsonLine).join(''), signal);
        else printLines(out, lines, previous);
        await write(out, '', signal);
        previous = lines.at(-1) ?? previous;
      }
      if (previous === undefined && !out.asJson) out.note('No lines.');
      return null;
    },
  });
}

type Summary = ResultOf<typeof listPayrollRuns>['data'][number];

const COLUMNS: readonly Column<Summary>[] = [
  ['pay date', (run) => run.pay_date],
  ['run', (run) => run.id],
  ['employer', (run) => run.employer_id],
  ['kind', (run) => run.kind, 3],
  ['frequency', (run) => run.pay_frequency, 4],
  ['pay group', (run) => run.pay_group, 2],
  ['state', (run) => run.state],
  ['lines', (run) => run.totals?.lines, 1],
  ['employees pay', ({ totals }) => totals && dollars(totals.member_amount)],
];

function jsonLine(line: ShownLine): string {
  return printableLines(`${JSON.stringify(line)}\n`);
}
