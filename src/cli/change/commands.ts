/** The commands of employment changes. */

import type { ResultOf } from '../../api/operation.ts';
import { reportChanges } from '../../api/operations/change-batch.ts';
import {
  cancelEmployeeChange,
  getEmployeeChange,
  listEmployeeChanges,
  releaseEmployeeChange,
  retryEmployeeChange,
} from '../../api/operations/employee-changes.ts';
import { ROWS_FILE } from '../arguments.ts';
import { type Command, confirm } from '../command.ts';
import { addOperation } from '../operation-command.ts';
import { type Column, employeeId, type Output, printable, printPairs, printTable } from '../output.ts';
import { type ChangeKind, reportFile } from './report.ts';

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
  for (const kind of Object.keys(REPORTS)) addReportCommand(change, kind as ChangeKind);
  addShowCommands(change);
  addActionCommands(change);
}

function addReportCommand(change: Command, kind: ChangeKind): void {
  const [description, file] = REPORTS[kind];
  addOperation(change, kind, reportChanges, {
    description: `${description} One invalid row rejects the whole file.`,
    examples: [file, `${file} --key-prefix 2026-07`],
    more: (command) =>
      command
        .argument('<file>', `A ${ROWS_FILE}; CSV columns are field paths such as address.line1`)
        .option(
          '--key-prefix <text>',
          'Prefix of the idempotency keys; another prefix reports the same file again (default: a hash of the file)',
        ),
    async input(context, _named, options: { file: string; keyPrefix?: string }) {
      await reportFile(context, kind, options);
      return null;
    },
  });
}

function addShowCommands(change: Command): void {
  addOperation(change, 'list', listEmployeeChanges, {
    description: 'List employment changes, newest first.',
    examples: ['--state rejected', '--employee maple-bakery-001 --wide'],
    columns: COLUMNS,
    none: 'No matching employment changes.',
  });
  addOperation(change, 'show', getEmployeeChange, {
    description: 'Show a change and its delivery attempts, without personal data.',
    examples: [CHANGE_ID],
    arguments: ['change_id'],
    without: ['body'],
    more: (command) => command.wide(),
    print: printChange,
  });
}

function addActionCommands(change: Command): void {
  addOperation(change, 'retry', retryEmployeeChange, {
    description: 'Send a rejected change again.',
    examples: [CHANGE_ID],
    arguments: ['change_id'],
    print: printed('is sent again'),
  });
  addOperation(change, 'cancel', cancelEmployeeChange, {
    description: 'Cancel a pending or rejected change and delete its contents.',
    examples: [`${CHANGE_ID} --reason "hired by mistake"`],
    arguments: ['change_id'],
    more: (command) => command.confirmed(),
    async input(context, named) {
      const { params } = named;
      const shown = await context.perform(getEmployeeChange, { params });
      const { id, kind, employee_id, state, may_have_been_applied, blocking } = shown;
      const effects = [
        `${id} is the ${kind} of ${employee_id}. It is ${state}.`,
        ...(may_have_been_applied ? ['The benefits service may have applied it: a response was lost.'] : []),
        ...(blocking ? ["The employee's later changes wait for it, and are sent afterward."] : []),
      ];
      await confirm(context, effects, 'Cancel it? It will not be sent, and its contents are deleted.');
      return named;
    },
    print: printed('is canceled'),
  });
  addOperation(change, 'release', releaseEmployeeChange, {
    description: 'Send the changes that wait for a rejected new hire.',
    examples: [CHANGE_ID],
    arguments: ['change_id'],
    print: printed('no longer delays later changes'),
  });
}

type ListedChange = ResultOf<typeof listEmployeeChanges>['data'][number];
type ShownChange = ListedChange & Pick<ResultOf<typeof getEmployeeChange>, 'last_attempts'>;

const COLUMNS: readonly Column<ListedChange>[] = [
  ['accepted', (change) => change.created_at, 2],
  ['change', (change) => change.id],
  ['kind', (change) => change.kind, 1],
  ['employee', employeeId],
  ['state', (change) => (change.blocking ? `${change.state}, blocking` : change.state)],
  ['attempts', (change) => change.attempts, 3],
  [
    'reason',
    ({ earlier_change_id: earlier, reason }) => (earlier === null ? reason : `waits for ${earlier}`),
    4,
  ],
];

const ATTEMPT_COLUMNS: readonly Column<ShownChange['last_attempts'][number]>[] = [
  ['attempt', (attempt) => attempt.attempt],
  ['started', (attempt) => attempt.started_at],
  ['finished', (attempt) => attempt.finished_at, 1],
  ['outcome', (attempt) => attempt.reason],
];

function printChange(out: Output, change: ShownChange): void {
  const { may_have_been_applied, blocking, last_attempts: attempts, ...rest } = change;
  printPairs(out, {
    ...rest,
    may_have_been_applied: may_have_been_applied ? 'yes: a response was lost' : 'no',
    blocking: blocking ? "yes: the employee's later changes wait for it" : 'no',
  });
  if (attempts.length === 0) return;
  out.print('');
  printTable(out, ATTEMPT_COLUMNS, attempts);
}

/** Returns the function that prints what happened to a change. */
function printed(what: string) {
  return (out: Output, { id, kind, employee_id }: ListedChange): void =>
    out.print(printable(`${id} (${kind} of ${employee_id}) ${what}`));
}
