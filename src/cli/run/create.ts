/** The commands of payroll runs. This file creates and previews them. */
import type { ResultOf } from '../../api/operation.ts';
import { previewPayrollRun, putPayrollRun } from '../../api/operations/payroll-run-creation.ts';
import type { Command } from '../command.ts';
import { addOperation } from '../operation-command.ts';
import type { Output } from '../output.ts';
import { addFinalizeCommands } from './finalize.ts';
import { addOverrideCommands } from './overrides.ts';
import { addPayrollFileCommands } from './payroll-files.ts';
import { printLines } from './print-lines.ts';
import { printRun } from './print-run.ts';
import { addShowCommands } from './show.ts';

const EXAMPLE =
  '--employer maple-bakery --frequency monthly --period-start 2026-07-01 --period-end 2026-07-31 --pay-date 2026-07-31';

/** The options of a run. */
const RUN = {
  flags: {
    pay_frequency: '--frequency <frequency>',
    pay_group: '--pay-group <group>',
    employee_ids: '--employee <id...>',
    deductions: '--deduction <id...>',
    items: '--item <id...>',
    final_checks: '--final-check <id...>',
  },
  isBodyInFile: 'optional',
  isTable: true,
} as const;

export function addRunCommands(program: Command): void {
  const run = program.subcommand('run', 'Compute, review and finalize payroll runs.');
  addOperation(run, 'create', putPayrollRun, {
    ...RUN,
    description: 'Create a run and show its totals. The same run again changes nothing.',
    examples: [`mb-2026-07 ${EXAMPLE}`, 'mb-2026-07 run.json'],
    arguments: ['run_id'],
    print: printRun,
  });
  addOperation(run, 'preview', previewPayrollRun, {
    ...RUN,
    description: 'Show the totals of a run without storing it.',
    examples: [EXAMPLE, 'run.json --employee maple-bakery-001'],
    print: printPreview,
  });
  addShowCommands(run);
  addOverrideCommands(run);
  addFinalizeCommands(run);
  addPayrollFileCommands(run);
}

function printPreview(out: Output, preview: ResultOf<typeof previewPayrollRun>): void {
  printRun(out, preview);
  const { lines } = preview;
  if (lines === null) {
    out.note('Add --employee to see the lines of employees, with explanations.');
    return;
  }
  out.print('');
  printLines(out, lines);
  if (lines.length < preview.totals.lines) out.note(`Only the first ${lines.length} lines are shown.`);
}
