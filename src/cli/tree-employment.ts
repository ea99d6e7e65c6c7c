/** The commands of employment changes. */
import { type Command, Option } from 'commander';
import { CHANGE_KINDS, type ChangeKind } from '../outbox/manual.ts';
import { instant, jsonOption } from './arguments.ts';
import type { Lazily } from './context.ts';
import { cursorOption, limitOption } from './tree-records.ts';

const REPORTS: Readonly<Record<ChangeKind, string>> = {
  'new-hire': 'report new employees',
  termination: 'report departing employees',
  demographic: 'report new addresses of employees',
  'compensation-change': 'report changes of pay or status',
};

export function addEmploymentCommands(tree: Command, lazily: Lazily): void {
  const change = tree.command('change').description('employment changes: reported, looked at, acted on');
  for (const kind of CHANGE_KINDS) addReport(change, kind, lazily);
  addLooking(change, lazily);
  addActing(change, lazily);
}

function addReport(change: Command, kind: ChangeKind, lazily: Lazily): void {
  change
    .command(kind)
    .description(`${REPORTS[kind]}; one wrong row refuses all, the same file again changes nothing`)
    .requiredOption(
      '--file <file>',
      '.json (one, or a list), .ndjson, or .csv whose columns are field paths such as address.line1 (required)',
    )
    .option(
      '--key-prefix <text>',
      "for idempotency keys, instead of the file's content: to report the same again",
    )
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./change-report.ts')).changeReport(kind)));
}

function addLooking(change: Command, lazily: Lazily): void {
  const states = ['pending', 'sending', 'delivered', 'rejected', 'cancelled'];
  change
    .command('list')
    .description('newest first')
    .addOption(new Option('--state <state>', 'in this state').choices(states))
    .option('--employee <id>', 'of this employee')
    .addOption(new Option('--kind <kind>', 'of this kind').choices(CHANGE_KINDS))
    .option('--from <instant>', 'accepted at or after', instant)
    .option('--until <instant>', 'accepted before', instant)
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./change-list.ts')).changeList));
  change
    .command('show')
    .description('one change and its attempts; no personal data')
    .argument('<change-id>')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./change-show.ts')).changeShow));
}

function addActing(change: Command, lazily: Lazily): void {
  change
    .command('retry')
    .description('send a rejected change once more, before what waits behind it')
    .argument('<change-id>')
    .option('--force', 'also when a newer change of the employee was delivered, which this one may undo')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./change-act.ts')).changeRetry));
  change
    .command('cancel')
    .description('give a change up that waits or was rejected; what it says is erased')
    .argument('<change-id>')
    .requiredOption('--reason <text>', 'why; kept with the change (required)')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./change-act.ts')).changeCancel));
  change
    .command('release')
    .description('let the changes behind a rejected new hire go out')
    .argument('<change-id>')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./change-act.ts')).changeRelease));
}
