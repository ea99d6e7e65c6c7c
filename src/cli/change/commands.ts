/** The commands of employment changes. */
import { databaseNow } from '../../database/engine.ts';
import type { Db } from '../../database/tables.ts';
import {
  type AcceptedChange,
  type ActedOn,
  actOnChange,
  type ChangeFilter,
  changeCursor,
  findChange,
  listChanges,
  type WholeChange,
} from '../../employment/changes.ts';
import {
  CHANGE_KINDS,
  type ChangeKind,
  cancelManually,
  releaseManually,
  retryManually,
} from '../../outbox/manual.ts';
import { instant, ROWS_FILE } from '../arguments.ts';
import { actingIn, type Command, confirm, type PageOptions } from '../command.ts';
import { type CommandError, failed, unknownId } from '../failure.ts';
import { type Column, type Output, printPage, printPairs, printResult, printTable } from '../output.ts';
import { changeReport, keyPrefix } from './report.ts';

/** For examples. */
const CHANGE_ID = '0b5e6f0c-8a1d-4c0e-9f43-2d6a7b1c9e10';

/** The description of each command that reports changes, and the file of its example. */
const REPORTS: Readonly<Record<ChangeKind, readonly [string, string]>> = {
  'new-hire': ['Report new employees to the benefits service.', 'hires.csv'],
  termination: ['Report terminated employees to the benefits service.', 'leavers.csv'],
  demographic: ['Report address changes to the benefits service.', 'addresses.json'],
  'compensation-change': ['Report changes of pay or status to the benefits service.', 'raises.ndjson'],
};

export function addChangeCommands(program: Command): void {
  const change = program.subcommand('change', 'Report employment changes and follow their delivery.');
  for (const kind of CHANGE_KINDS) addReportCommand(change, kind);
  addShowCommands(change);
  addActionCommands(change);
}

function addReportCommand(change: Command, kind: ChangeKind): void {
  const [description, file] = REPORTS[kind];
  change
    .subcommand(kind, `${description} One invalid row rejects the whole file.`)
    .records('change.report')
    .examples(`change ${kind} ${file}`, `change ${kind} ${file} --key-prefix 2026-07`)
    .argument('<file>', `A ${ROWS_FILE}; CSV columns are field paths such as address.line1`)
    .option(
      '--key-prefix <text>',
      'Prefix of the idempotency keys; another prefix reports the same file again (default: a hash of the file)',
      keyPrefix,
    )
    .json()
    .does(changeReport(kind));
}

function addShowCommands(change: Command): void {
  change
    .subcommand('list', 'List employment changes, newest first.')
    .records('none')
    .examples('change list --state rejected', 'change list --employee maple-bakery-001 --wide')
    .choice('--state <state>', 'Only changes in this state', [
      'pending',
      'sending',
      'delivered',
      'rejected',
      'canceled',
    ])
    .option('--employee <id>', 'Only this employee')
    .choice('--kind <kind>', 'Only this kind', CHANGE_KINDS)
    .option('--from <time>', 'Only changes accepted at or after this time', instant)
    .option('--until <time>', 'Only changes accepted before this time', instant)
    .page()
    .doesOnDatabase(async ({ db, out }, options: ListOptions) => {
      const { employee, limit, cursor, ...filter } = options;
      const page = { before: changeCursor.decode(cursor), limit };
      const { changes, next } = await listChanges(db, { ...filter, employeeId: employee }, page);
      const none = 'No matching employment changes.';
      printPage(out, changeCursor.page(changes, next), { columns: COLUMNS, rows: changes, none });
    });
  change
    .subcommand('show', 'Show a change and its delivery attempts, without personal data.')
    .records('none')
    .examples(`change show ${CHANGE_ID}`)
    .argument('<change-id>', 'The id of the change')
    .table()
    .doesOnDatabase(async ({ db, out }, changeId: string) => {
      // Without its contents: the API shows those to tokens with the scope, and records the read.
      const change = await foundChange(db, changeId);
      printResult(out, change, () => {
        const { may_have_been_applied, blocking, last_attempts: attempts, ...rest } = change;
        printPairs(out, {
          ...rest,
          may_have_been_applied: may_have_been_applied ? 'yes: a response was lost' : 'no',
          blocking: blocking ? "yes: the employee's later changes wait for it" : 'no',
        });
        if (attempts.length === 0) return;
        out.print('');
        printTable(out, ATTEMPT_COLUMNS, attempts);
      });
    });
}

function addActionCommands(change: Command): void {
  change
    .subcommand('retry', 'Send a rejected change again.')
    .records('change.retry')
    .examples(`change retry ${CHANGE_ID}`)
    .argument('<change-id>', 'The id of the change')
    .option('--force', 'Also if a newer change of the employee was delivered, which this one may undo')
    .json()
    .doesOnDatabase(async (context, changeId: string, { force = false }: { force?: boolean }) => {
      const { db, out, now } = context;
      const how = { force, ...actingIn(context, await databaseNow(db, now)) };
      const acted = await actOnChange(db, changeId, (trx) => retryManually(trx, changeId, how));
      printOutcome(out, changeId, acted, 'is sent again');
    });
  change
    .subcommand('cancel', 'Cancel a pending or rejected change and delete its contents.')
    .records('change.cancel')
    .examples(`change cancel ${CHANGE_ID} --reason "hired by mistake"`)
    .argument('<change-id>', 'The id of the change')
    .reason('Why; stored with the change')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, changeId: string, { reason }: { reason: string }) => {
      const { db, out, now } = context;
      const change = await foundChange(db, changeId);
      const { kind, employee_id, state, may_have_been_applied, blocking } = change;
      const effects = [
        `${changeId} is the ${kind} of ${employee_id}. It is ${state}.`,
        ...(may_have_been_applied ? ['The benefits service may have applied it: a response was lost.'] : []),
        ...(blocking ? ["The employee's later changes wait for it, and are sent afterward."] : []),
      ];
      await confirm(context, effects, 'Cancel it? It will not be sent, and its contents are deleted.');
      const how = { reason, ...actingIn(context, await databaseNow(db, now)) };
      const acted = await actOnChange(db, changeId, (trx) => cancelManually(trx, changeId, how));
      printOutcome(out, changeId, acted, 'is canceled');
    });
  change
    .subcommand('release', 'Send the changes that wait for a rejected new hire.')
    .records('change.release')
    .examples(`change release ${CHANGE_ID}`)
    .argument('<change-id>', 'The id of the rejected new hire')
    .json()
    .doesOnDatabase(async (context, changeId: string) => {
      const { db, out, now } = context;
      const acting = actingIn(context, await databaseNow(db, now));
      const acted = await actOnChange(db, changeId, (trx) => releaseManually(trx, changeId, acting));
      printOutcome(out, changeId, acted, 'no longer delays later changes');
    });
}

type ListOptions = Omit<ChangeFilter, 'employeeId'> & PageOptions & { employee?: string };

const COLUMNS: readonly Column<AcceptedChange>[] = [
  ['accepted', (change) => change.created_at, 2],
  ['change', (change) => change.id],
  ['kind', (change) => change.kind, 1],
  ['employee', (change) => change.employee_id],
  ['state', (change) => (change.blocking ? `${change.state}, blocking` : change.state)],
  ['attempts', (change) => change.attempts, 3],
  [
    'reason',
    ({ earlier_change_id: earlier, reason }) => (earlier === null ? reason : `waits for ${earlier}`),
    4,
  ],
];

async function foundChange(db: Db, changeId: string) {
  const change = await findChange(db, changeId);
  if (change === null) throw unknownChange(changeId);
  return change;
}

const ATTEMPT_COLUMNS: readonly Column<WholeChange['last_attempts'][number]>[] = [
  ['attempt', (attempt) => attempt.attempt],
  ['started', (attempt) => attempt.started_at],
  ['finished', (attempt) => attempt.finished_at, 1],
  ['outcome', (attempt) => attempt.reason],
];

function unknownChange(changeId: string): CommandError {
  return unknownId('employment change', changeId, 'change list');
}

function printOutcome(out: Output, changeId: string, acted: ActedOn, what: string): void {
  if (acted.outcome === 'not-found') throw unknownChange(changeId);
  if (acted.outcome === 'refused') throw failed(acted.why);
  const { change } = acted;
  printResult(out, change, `${changeId} (${change.kind} of ${change.employee_id}) ${what}`);
}
