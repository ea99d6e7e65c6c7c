/** The commands that look at, and act on, what is stored: events, deductions, censuses. */
import { type Command, Option } from 'commander';
import { day, instant, jsonOption, truth, wholeNumber } from './arguments.ts';
import type { Lazily } from './context.ts';

/** The API's own bounds of a page. */
const LIMIT_MOST = 1_000;
const LIMIT_USUAL = 100;

export function addRecordCommands(tree: Command, lazily: Lazily): void {
  addEvents(tree.command('events').description('webhook messages that came in'), lazily);
  addDeductions(tree.command('deductions').description('the ledger of deductions'), lazily);
  addCensus(tree.command('census').description("employers' censuses"), lazily);
}

function addEvents(events: Command, lazily: Lazily): void {
  const list = events.command('list').description('newest first');
  filtered(list)
    .option('--dismissed <true|false>', 'that somebody dismissed, or nobody did', truth)
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./events-list.ts')).eventsList));
  events
    .command('show')
    .description('one event with its body, and what else came under its id')
    .argument('<event-id>')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./events-show.ts')).eventsShow));
  const reprocess = events
    .command('reprocess')
    .description('apply events once more; what they did is not done twice');
  filtered(reprocess.argument('[event-id...]', 'these; or else all that pass the filters'))
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./events-reprocess.ts')).eventsReprocess));
  events
    .command('dismiss')
    .description('mark a quarantined event, a tie or a conflict as seen')
    .argument('<event-id>')
    .requiredOption('--reason <text>', 'why; kept with the event (required)')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./events-dismiss.ts')).eventsDismiss));
}

function filtered(command: Command): Command {
  return command
    .addOption(
      new Option('--state <state>', 'in this state').choices([
        'pending',
        'applied',
        'ignored',
        'quarantined',
      ]),
    )
    .option('--type <event-type>', 'of this type')
    .option('--from <instant>', 'received at or after', instant)
    .option('--until <instant>', 'received before', instant);
}

function addDeductions(deductions: Command, lazily: Lazily): void {
  deductions
    .command('list')
    .description('by employee; the latest states, or those of a day')
    .option('--employer <id>', 'of the employees of this employer')
    .option('--employee <id>', 'of this employee')
    .option('--matched <true|false>', 'whose employee is in the roster, or is not', truth)
    .option('--on <day>', 'in effect on this day', day)
    .option('--known-at <instant>', 'from what was known at this time', instant)
    .option('--line-of-coverage <line>', 'of this line, such as medical')
    .addOption(new Option('--taxability <taxability>', 'of this one').choices(['pre_tax', 'post_tax']))
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./deductions-list.ts')).deductionsList));
  deductions
    .command('versions')
    .description('every state that a deduction was ever in, oldest first')
    .argument('<deduction-id>')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./deductions-versions.ts')).deductionsVersions));
  deductions
    .command('decide')
    .description('decide whether a version whose start was moved before it began applies')
    .argument('<deduction-id>')
    .requiredOption(
      '--version <number>',
      'the version, as readiness names it (required)',
      wholeNumber(1, 1e9),
    )
    .addOption(
      new Option('--decision <decision>', 'keep: it applies until the next one starts; drop: it never did')
        .choices(['keep', 'drop'])
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'the reason, which is kept (required)')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./deductions-decide.ts')).deductionsDecide));
}

function addCensus(census: Command, lazily: Lazily): void {
  census
    .command('validate')
    .description('check a census against the contract; every row and field that breaks it is named')
    .argument('<file>', '.json, or .csv with FILE.organization.json beside it')
    .option('--employer <id>', 'also tell what it would change against the last upload of this employer')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./census-validate.ts')).censusValidate));
  census
    .command('stage')
    .description('check a census and keep it for the next upload')
    .argument('<file>', '.json, or .csv with FILE.organization.json beside it')
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./census-stage.ts')).censusStage));
  census
    .command('show')
    .description("an employer's staged census and its latest syncs; no personal data without --answer")
    .addOption(employerOption())
    .option(
      '--answer',
      'also show the response with which the service rejected the latest upload; may hold personal data, so the read is recorded',
    )
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./census-show.ts')).censusShow));
  census
    .command('sync')
    .description("have an employer's census uploaded now")
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./census-sync.ts')).censusSync));
}

export function employerOption(): Option {
  return new Option('--employer <id>', "payroll's id of the employer (required)").makeOptionMandatory();
}

export function limitOption(): Option {
  return new Option('--limit <number>', 'at most this many')
    .argParser(wholeNumber(1, LIMIT_MOST))
    .default(LIMIT_USUAL);
}

export function cursorOption(): Option {
  return new Option('--cursor <text>', 'go on where a page ended: its next_cursor');
}
