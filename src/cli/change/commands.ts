/** The commands of employment changes. */
import { type Command, Option } from 'commander';
import type { RequestState } from '../../database/tables.ts';
import { changeCursor } from '../../employment/change-view.ts';
import { type AcceptedChange, findChange, listChanges } from '../../employment/changes.ts';
import { type ActedOn, cancelChange, releaseChange, retryChange } from '../../employment/manual.ts';
import { AppError } from '../../errors.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../outbox/manual.ts';
import { cursorOption, instant, jsonOption, limitOption, reasonOf } from '../arguments.ts';
import { type Act, type Context, withDatabase } from '../context.ts';
import { notePage, printable, printPairs, printTable, shortened } from '../output.ts';
import { changeReport } from './report.ts';

const REPORTS: Readonly<Record<ChangeKind, string>> = {
  'new-hire': 'report new employees',
  termination: 'report departing employees',
  demographic: 'report new addresses of employees',
  'compensation-change': 'report changes of pay or status',
};

export function addChangeCommands(program: Command, act: Act): void {
  const change = program.command('change').description('employment changes: reported, looked at, acted on');
  for (const kind of CHANGE_KINDS) addReportCommand(change, kind, act);
  addShowCommands(change, act);
  addActionCommands(change, act);
}

function addReportCommand(change: Command, kind: ChangeKind, act: Act): void {
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
    .action(act(changeReport(kind)));
}

function addShowCommands(change: Command, act: Act): void {
  const states = ['pending', 'sending', 'delivered', 'rejected', 'canceled'];
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
    .action(act(changeList));
  change
    .command('show')
    .description('one change and its attempts; no personal data')
    .argument('<change-id>')
    .addOption(jsonOption())
    .action(act(changeShow));
}

function addActionCommands(change: Command, act: Act): void {
  change
    .command('retry')
    .description('retry a rejected change before the changes that wait for it')
    .argument('<change-id>')
    .option('--force', 'also when a newer change of the employee was delivered, which this one may undo')
    .addOption(jsonOption())
    .action(act(changeRetry));
  change
    .command('cancel')
    .description('cancel a pending or rejected change; its contents are erased')
    .argument('<change-id>')
    .requiredOption('--reason <text>', 'why; kept with the change (required)')
    .addOption(jsonOption())
    .action(act(changeCancel));
  change
    .command('release')
    .description('let the changes behind a rejected new hire go out')
    .argument('<change-id>')
    .addOption(jsonOption())
    .action(act(changeRelease));
}

type ListOptions = {
  state?: RequestState;
  employee?: string;
  kind?: ChangeKind;
  from?: string;
  until?: string;
  limit: number;
  cursor?: string;
  json?: true;
};

function changeList(context: Context, options: ListOptions): Promise<number> {
  const { out } = context;
  const { state, employee, kind, from, until, limit, cursor, json } = options;
  const before = changeCursor.decode(cursor);
  return withDatabase(context, async (db) => {
    const filter = { state, employeeId: employee, kind, from, until };
    const { changes, next } = await listChanges(db, filter, { before, limit });
    const page = changeCursor.page(changes, next);
    if (json) out.json(page);
    else if (changes.length === 0) out.note('no such changes');
    else {
      printTable(
        out,
        ['accepted', 'change', 'kind', 'employee', 'state', 'attempts', 'reason'],
        changes.map((change) => [
          change.created_at,
          change.id,
          change.kind,
          change.employee_id,
          change.holding ? `${change.state}, holding` : change.state,
          change.attempts,
          change.earlier_change_id === null
            ? shortened(change.reason)
            : `waits for ${change.earlier_change_id}`,
        ]),
      );
      notePage(out, page.next_cursor);
    }
    return 0;
  });
}

function pairsOf(change: AcceptedChange): Record<string, string | number | null> {
  const { may_have_been_applied, holding, ...rest } = change;
  return {
    ...rest,
    may_have_been_applied: may_have_been_applied ? 'yes: an answer was lost' : 'no',
    holding: holding ? "yes: the employee's later changes wait" : 'no',
  };
}

/**
 * Shows a change with its attempts, but not its contents: the API shows those to tokens with the scope, and
 * records the read.
 */
function changeShow(context: Context, changeId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const found = await findChange(db, changeId);
    if (found === null) throw unknownChange(changeId);
    const { change, attempts } = found;
    if (json) out.json({ ...change, last_attempts: attempts });
    else {
      printPairs(out, pairsOf(change));
      if (attempts.length > 0) {
        out.print('');
        printTable(
          out,
          ['attempt', 'began', 'ended', 'status', 'reason'],
          attempts.map((one) => [one.attempt, one.started_at, one.finished_at, one.status, one.reason]),
        );
      }
    }
    return 0;
  });
}

function unknownChange(changeId: string): AppError {
  return new AppError(
    'COMMAND_FAILED',
    `there is no employment change ${printable(changeId)}: "benefits-sidecar change list" shows those that there are`,
  );
}

function changeRetry(
  context: Context,
  changeId: string,
  { force, json }: { force?: true; json?: true },
): Promise<number> {
  return withDatabase(context, async (db) => {
    const now = context.now().toISOString();
    const acted = await retryChange(db, changeId, { force: force === true, now });
    return printOutcome(context, changeId, acted, 'is sent again:', json);
  });
}

function changeCancel(
  context: Context,
  changeId: string,
  { reason: given, json }: { reason: string; json?: true },
): Promise<number> {
  const reason = reasonOf(given);
  return withDatabase(context, async (db) => {
    const acted = await cancelChange(db, changeId, { reason, now: context.now().toISOString() });
    return printOutcome(context, changeId, acted, 'is canceled:', json);
  });
}

function changeRelease(context: Context, changeId: string, { json }: { json?: true }): Promise<number> {
  return withDatabase(context, async (db) => {
    const acted = await releaseChange(db, changeId);
    return printOutcome(context, changeId, acted, 'holds nothing back any more:', json);
  });
}

function printOutcome(
  { out }: Context,
  changeId: string,
  acted: ActedOn,
  what: string,
  json: true | undefined,
): number {
  if (acted.outcome === 'not-found') throw unknownChange(changeId);
  if (acted.outcome === 'refused') throw new AppError('COMMAND_FAILED', acted.why);
  const { change } = acted;
  if (json) out.json(change);
  else out.print(`${printable(changeId)} ${what} ${change.kind} of ${printable(change.employee_id)}`);
  return 0;
}
