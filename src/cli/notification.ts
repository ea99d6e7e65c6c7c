/** The commands of notifications. */
import type { RowOf } from '../api/operation.ts';
import { listNotifications, retryNotification, testNotification } from '../api/operations/notifications.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';
import { type Column, printable } from './output.ts';

export function addNotificationCommands(program: Command): void {
  const group = program.subcommand(
    'notification',
    'List, retry and test notifications of the payroll system.',
  );
  addOperation(group, 'list', listNotifications, {
    description: 'List notifications, newest first.',
    examples: ['', '--state failed', '--type run.finalized --json'],
    columns: COLUMNS,
    none: 'No matching notifications. Without NOTIFY_URL, none are stored.',
  });
  addOperation(group, 'retry', retryNotification, {
    description: 'Send a failed notification again, or a pending one at once.',
    examples: ['0d9f3a52-6c1e-4b7a-9f08-2f7f3f1f9f10'],
    arguments: ['notification_id'],
    print: (out, { id }) => out.print(`Queued ${printable(id)}`),
  });
  addOperation(group, 'test', testNotification, {
    description: 'Send a test notification to NOTIFY_URL.',
    examples: [''],
    print: (out, { id }) => {
      out.print(`Queued ${printable(id)}`);
      out.note('A running sidecar sends it. See the result with "benefits-sidecar notification list".');
    },
  });
}

const COLUMNS: readonly Column<RowOf<typeof listNotifications>>[] = [
  ['created', (row) => row.created_at],
  ['type', (row) => row.type],
  ['state', (row) => row.state],
  ['attempts', (row) => row.attempts],
  ['notification', (row) => row.id, 1],
  ['text', (row) => row.text, 'cut'],
  ['reason', (row) => row.reason, 2],
];
