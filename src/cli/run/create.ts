/** The commands of payroll runs. This file creates and previews them. */
import type { Command } from 'commander';
import { AppError } from '../../errors.ts';
import { APPLIES_ON, EXTRA_PAYCHECKS, REMAINDERS, SCHEMES } from '../../payroll/calculation/plan.ts';
import { viewPreview, viewStoredRun } from '../../payroll/run-view.ts';
import { beginRun, PREVIEWED_LINES, previewWithLines } from '../../payroll/runs/begin.ts';
import { RUN_ID_PATTERN, type RunBody, runOf, type StatedRun } from '../../payroll/runs/body.ts';
import { jsonOption, readJsonFile } from '../arguments.ts';
import { type Act, type Context, withDatabase } from '../context.ts';
import { inputRefused } from '../failure.ts';
import { printable } from '../output.ts';
import { addFinalizeCommands } from './finalize.ts';
import { addPayrollFileCommands } from './payroll-files.ts';
import { printLines, printPreview, printRun } from './print.ts';
import { addShowCommands } from './show.ts';

export function addRunCommands(program: Command, act: Act): void {
  const run = program.command('run').description('payroll runs: what to deduct on a paycheck');
  addCreateCommands(run, act);
  addShowCommands(run, act);
  addFinalizeCommands(run, act);
  addPayrollFileCommands(run, act);
}

function addCreateCommands(run: Command, act: Act): void {
  const create = run
    .command('create')
    .description('put a run and show what it comes to; the same again changes nothing')
    .argument('<run-id>', 'an id of your own: 1 to 128 of A-Z a-z 0-9 . _ -');
  withRunOptions(create).addOption(jsonOption()).action(act(runCreate));
  withRunOptions(run.command('preview').description('show what a run would come to; nothing of it is kept'))
    .addOption(jsonOption())
    .action(act(runPreview));
}

/** Adds an option for each field of a run. The values are checked with the body. */
function withRunOptions(command: Command): Command {
  return command
    .option('--file <file>', 'all of it as JSON, as the API takes it')
    .option('--employer <id>', 'whose employees are paid')
    .option('--frequency <frequency>', 'weekly, biweekly, semimonthly or monthly')
    .option('--period-start <day>', 'the first day of the pay period')
    .option('--period-end <day>', 'the last day of the pay period')
    .option('--pay-date <day>', 'the date employees are paid')
    .option('--kind <kind>', 'regular (default) or off_cycle')
    .option('--pay-group <group>', 'only employees of this pay group')
    .option('--employee <id...>', 'only these employees')
    .option('--deduction <id...>', 'only these deductions')
    .option('--final-check <id...>', 'employees who left and get a last paycheck')
    .option('--pay-dates <day...>', "the calendar year's pay dates, if the employer has no pay schedule")
    .option('--scheme <scheme>', `${listed(SCHEMES)}: which checks share which part of a year`)
    .option('--applies-on <day>', `${listed(APPLIES_ON)}: when a deduction must be in effect`)
    .option('--remainder <way>', `${listed(REMAINDERS)}: which check takes the remaining cents`)
    .option(
      '--extra-paycheck <way>',
      `${listed(EXTRA_PAYCHECKS)} on checks beyond the usual number of a year`,
    )
    .option('--adjustments <way>', 'report or include differences of earlier runs')
    .option('--arrears <way>', 'report or include amounts that payroll did not take in earlier runs')
    .option('--policy-reason <text>', "why the run differs from the employer's payroll policy");
}

function listed(values: readonly string[]): string {
  return values.join(', ').replace(/, ([^,]*)$/, ' or $1');
}

/** The field of the run that each option sets. */
const FIELDS = {
  employer: 'employer_id',
  frequency: 'pay_frequency',
  periodStart: 'period_start',
  periodEnd: 'period_end',
  payDate: 'pay_date',
  kind: 'kind',
  payGroup: 'pay_group',
  employee: 'employee_ids',
  deduction: 'deductions',
  finalCheck: 'final_checks',
  payDates: 'pay_dates',
  scheme: 'scheme',
  appliesOn: 'applies_on',
  remainder: 'remainder',
  extraPaycheck: 'extra_paycheck',
  adjustments: 'adjustments',
  arrears: 'arrears',
  policyReason: 'policy_reason',
} as const satisfies Record<string, keyof RunBody>;

type RunOptions = { [Name in keyof typeof FIELDS]?: unknown } & { file?: string };

/**
 * Returns the run in the options. `--employee` may be combined with a file, to look at one employee of an existing
 * run. Throws INPUT_REFUSED with problems by field.
 */
async function askedRun(options: RunOptions): Promise<StatedRun> {
  const parsed = runOf(await bodyIn(options));
  if (!parsed.ok) throw inputRefused('the run', parsed.problems);
  return parsed.run;
}

async function bodyIn({ file, ...options }: RunOptions): Promise<unknown> {
  const given = Object.fromEntries(
    Object.entries(FIELDS)
      .map(([name, field]) => [field, options[name as keyof typeof FIELDS]])
      .filter(([, value]) => value !== undefined),
  );
  if (file === undefined) return given;
  if (Object.keys(given).some((field) => field !== FIELDS.employee)) {
    throw new AppError(
      'WRONG_USAGE',
      'define a run with --file or with options: with a file, only --employee is allowed',
    );
  }
  const body = await readJsonFile(file);
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body, ...given } : body;
}

/** Saves a run and prints its totals. The same run again changes nothing. */
async function runCreate(
  context: Context,
  runId: string,
  options: RunOptions & { json?: true },
): Promise<number> {
  const { out, now } = context;
  if (!new RegExp(RUN_ID_PATTERN).test(runId)) {
    throw new AppError(
      'WRONG_USAGE',
      'the id of a run must be 1 to 128 of A-Z a-z 0-9 . _ -, and not only one or two dots',
    );
  }
  const run = await askedRun(options);
  return withDatabase(context, async (db) => {
    const begun = await beginRun(db, runId, run, now().toISOString());
    if (begun.outcome === 'different') {
      throw new AppError(
        'COMMAND_FAILED',
        `another run has the id ${printable(runId)}: use another id, or "benefits-sidecar run delete" that one while it is open`,
      );
    }
    const shown = await viewStoredRun(db, begun.view, begun.stored);
    if (options.json) out.json(shown);
    else printRun(out, shown);
    if (begun.outcome === 'same') out.note('the run was there already, and nothing was changed');
    return 0;
  });
}

/** Prints the totals of a run that is not saved, and the lines of the employees that it names. */
async function runPreview(context: Context, options: RunOptions & { json?: true }): Promise<number> {
  const { out } = context;
  const run = await askedRun(options);
  return withDatabase(context, async (db) => {
    const { view, lines } = await previewWithLines(db, run);
    const shown = await viewPreview(db, view, run, lines);
    if (options.json) {
      out.json(shown);
      return 0;
    }
    printPreview(out, shown);
    if (lines === null) out.note('with --employee their lines are shown, and how each came about');
    else {
      out.print('');
      printLines(out, lines);
      if (lines.length === PREVIEWED_LINES) out.note(`only the first ${PREVIEWED_LINES} lines are shown`);
    }
    return 0;
  });
}
