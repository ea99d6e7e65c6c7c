/** The commands of payroll runs, of what payroll says of an employer, and of what it begins with. */
import { type Command, Option } from 'commander';
import { APPLIES_ON, EXTRA_PAYCHECKS, REMAINDERS, SCHEMES } from '../payroll/calculation/plan.ts';
import { jsonOption } from './arguments.ts';
import type { Lazily } from './context.ts';
import { cursorOption, employerOption, limitOption } from './tree-records.ts';

const ROWS_FILE = '.csv, .json or .ndjson';

export function addPayrollCommands(tree: Command, lazily: Lazily): void {
  const run = tree.command('run').description('payroll runs: what to deduct on a paycheck');
  addAsking(run, lazily);
  addLooking(run, lazily);
  addStanding(run, lazily);
  addFiles(run, lazily);
  addSettings(tree, lazily);
  tree
    .command('import')
    .description('what a payroll begins with')
    .command('deductions')
    .description('bring the deductions of today into the ledger; the same file again changes nothing')
    .argument('<file>', `${ROWS_FILE}: the fields of a deduction, and created_at where it is known`)
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./import-deductions.ts')).importFile));
}

function addAsking(run: Command, lazily: Lazily): void {
  const create = run
    .command('create')
    .description('put a run and show what it comes to; the same again changes nothing')
    .argument('<run-id>', 'an id of your own: 1 to 128 of A-Z a-z 0-9 . _ -');
  asked(create)
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-create.ts')).runCreate));
  asked(run.command('preview').description('show what a run would come to; nothing of it is kept'))
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-preview.ts')).runPreview));
}

/** Adds an option for each field of a run. What they may hold is checked with the body, and refused by field. */
function asked(command: Command): Command {
  return command
    .option('--file <file>', 'all of it as JSON, as the API takes it')
    .option('--employer <id>', 'whose employees are paid')
    .option('--frequency <frequency>', 'weekly, biweekly, semimonthly or monthly')
    .option('--period-start <day>', 'the first day of the pay period')
    .option('--period-end <day>', 'the last day of the pay period')
    .option('--pay-date <day>', 'the day on which is paid')
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

function addLooking(run: Command, lazily: Lazily): void {
  run
    .command('list')
    .description('the latest pay date first')
    .option('--employer <id>', 'of this employer')
    .addOption(new Option('--state <state>', 'in this state').choices(['open', 'finalized', 'voided']))
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-list.ts')).runList));
  run
    .command('show')
    .description('its options, state, totals and ETag; an open run is computed anew')
    .argument('<run-id>')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-show.ts')).runShow));
  run
    .command('lines')
    .description('what to deduct from whom, and how each amount came about')
    .argument('<run-id>')
    .option('--employee <id>', 'of this employee')
    .option('--csv', 'print CSV with a header')
    .option('--json', 'print a JSON object a line, for programs')
    .action(lazily(async () => (await import('./run-lines.ts')).runLines));
  run
    .command('readiness')
    .description('say whether an open run can be finalized')
    .argument('<run-id>')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-readiness.ts')).runReadiness));
}

function addStanding(run: Command, lazily: Lazily): void {
  run
    .command('finalize')
    .description('freeze the lines that were reviewed')
    .argument('<run-id>')
    .option(
      '--etag <etag>',
      'of the run or of the readiness report that was reviewed; without it you are asked',
    )
    .option('--yes', 'finalize the current lines without being asked')
    .option('--accept <check...>', 'failed readiness checks whose findings you accept; needs --reason')
    .option('--reason <text>', 'why the findings are accepted; kept with them')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-finalize.ts')).runFinalize));
  run
    .command('void')
    .description('take a finalized run back; it stays readable, and counts as nothing')
    .argument('<run-id>')
    .requiredOption('--reason <text>', 'why; kept with the run (required)')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-void.ts')).runVoid));
  run
    .command('verify')
    .description('compute a finalized run again from what was known then; 0 when it is identical')
    .argument('<run-id>')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-verify.ts')).runVerify));
  run
    .command('delete')
    .description('remove an open run')
    .argument('<run-id>')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-delete.ts')).runDelete));
}

function addFiles(run: Command, lazily: Lazily): void {
  run
    .command('taken')
    .description('report what payroll took of a finalized run; sent again it replaces the report before')
    .argument('<run-id>')
    .argument('<file>', `${ROWS_FILE}: employee_id, amount, and what tells the line from others`)
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-taken.ts')).runTaken));
  run
    .command('audit')
    .description("compare a run with payroll's own file; 0 when nothing differs")
    .argument('<run-id>')
    .argument('<file>', `${ROWS_FILE}: employee_id, what it is for, member_amount, employer_amount`)
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./run-audit.ts')).runAudit));
}

function addSettings(tree: Command, lazily: Lazily): void {
  const schedule = tree.command('schedule').description("an employer's pay dates");
  schedule
    .command('put')
    .description('replace them')
    .argument('<file>', 'JSON, as the API takes it')
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./schedule-put.ts')).schedulePut));
  schedule
    .command('show')
    .description('as they were put')
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./schedule-show.ts')).scheduleShow));
  const policy = tree.command('policy').description("an employer's payroll policy: the options of its runs");
  policy
    .command('put')
    .description('add a version')
    .argument('<file>', 'JSON, as the API takes it')
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./policy-put.ts')).policyPut));
  policy
    .command('show')
    .description('all versions, the newest effective_from first')
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./policy-show.ts')).policyShow));
  const codes = tree.command('codes').description("payroll's own codes for an employer's deductions");
  codes
    .command('put')
    .description('replace them')
    .argument('<file>', 'JSON, as the API takes it')
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./codes-put.ts')).codesPut));
  codes
    .command('show')
    .description('as they were put')
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./codes-show.ts')).codesShow));
}
