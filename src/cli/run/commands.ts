/** Payroll runs. */
import type { Command } from 'commander';
import type { Act } from '../context.ts';
import { addCreateCommands } from './create.ts';
import { addFinalizeCommands } from './finalize.ts';
import { addPayrollFileCommands } from './payroll-files.ts';
import { addShowCommands } from './show.ts';

/** Adds the commands of payroll runs. */
export function addRunCommands(program: Command, act: Act): void {
  const run = program.command('run').description('payroll runs: what to deduct on a paycheck');
  addCreateCommands(run, act);
  addShowCommands(run, act);
  addFinalizeCommands(run, act);
  addPayrollFileCommands(run, act);
}
