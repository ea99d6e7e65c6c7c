/** The commands of events. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ResultOf } from '../api/operation.ts';
import { listEventDeliveries } from '../api/operations/event-deliveries.ts';
import { dismissEvent, reprocessEvent, reprocessEvents } from '../api/operations/event-work.ts';
import { getEvent, listEventConflicts, listEvents } from '../api/operations/events.ts';
import { type Command, confirm } from './command.ts';
import { CommandError, failed, wrongUsage } from './failure.ts';
import { createFollower } from './follow.ts';
import { addOperation } from './operation-command.ts';
import type { OperationContext } from './operation-run.ts';
import { type Column, counted, type Output, printable, printPairs, printResult } from './output.ts';

const EVENT = ['event_id'];
const FLAGS = { event_type: '--type <event-type>' };

export function addEventCommands(program: Command): void {
  const events = program.subcommand('events', 'Show, reprocess and dismiss webhook events.');
  addOperation(events, 'list', listEvents, {
    description: 'List events, newest first.',
    examples: [
      '--state quarantined --dismissed false',
      '--from 2026-07-01 --until 2026-08-01 --json',
      '--follow',
    ],
    flags: FLAGS,
    more: (command) =>
      command.option(
        '--follow',
        'Print deliveries as they arrive, and refused ones by cause, until Ctrl-C',
      ) as Command,
    async input(context, named, { follow }: { follow?: true }) {
      if (follow !== true) return named;
      await followEvents(context, named.query);
      return null;
    },
    columns: COLUMNS,
    none: 'No matching events.',
  });
  addOperation(events, 'show', getEvent, {
    description: 'Show an event with its body and its result.',
    examples: ['msg_2b7Kq'],
    arguments: EVENT,
    print: printEvent,
  });
  addOperation(events, 'conflicts', listEventConflicts, {
    description: 'Print conflicting bodies that were received with the ID of an event.',
    examples: ['msg_2b7Kq', 'msg_2b7Kq --limit 20 --json'],
    arguments: EVENT,
    print: printConflicts,
  });
  addOperation(events, 'reprocess', reprocessEvents, {
    description: 'Apply events again. Events that took effect do not take effect twice.',
    examples: ['msg_2b7Kq', '--state quarantined --from 2026-07-01'],
    flags: FLAGS,
    more: (command) =>
      command.argument('[event-id...]', 'The IDs of events; without IDs, use filters') as Command,
    async input(context, { body }, { eventId: ids }: { eventId: string[] }) {
      const byFilter = Object.keys(body).length > 0;
      if (byFilter === ids.length > 0) {
        throw wrongUsage(
          'name events by ID, or by at least one of --state, --type, --from and --until, but not both',
        );
      }
      if (byFilter) return { body };
      await reprocessEach(context, ids);
      const result = { reprocessed: ids.length, without_body: 0 };
      printResult(context.out, result, () => printReprocessed(context.out, result));
      return null;
    },
    print: printReprocessed,
  });
  addOperation(events, 'dismiss', dismissEvent, {
    description: 'Mark a quarantined event, a conflict, a tie or a change of the contract as reviewed.',
    examples: ['msg_2b7Kq --reason "test event of the provider"'],
    arguments: EVENT,
    more: (command) => command.confirmed(),
    async input(context, { params, body }) {
      const { id, event_type, state, conflicts } = await context.perform(getEvent, { params });
      await confirm(
        context,
        [`${id}: ${event_type ?? 'unknown type'}, ${state}, ${counted(conflicts.stored, 'conflict')}.`],
        'Dismiss it? Readiness stops reporting it, and a dismissal cannot be undone.',
      );
      return { params, body };
    },
    print: (out, { id }) => out.print(`Dismissed ${printable(id)}`),
  });
}

type EventSummary = ResultOf<typeof listEvents>['data'][number];

const COLUMNS: readonly Column<EventSummary>[] = [
  ['received', (event) => event.received_at],
  ['event', (event) => event.id],
  ['type', (event) => event.event_type, 1],
  [
    'state',
    ({ state, dismissed_at, flags }) => [state, ...(dismissed_at ? ['dismissed'] : []), ...flags].join(', '),
  ],
  ['reason', (event) => event.dismissed_reason ?? event.reason, 'cut'],
];

/** How often `--follow` looks for deliveries. Receivers save their counts of refused requests every 5 seconds. */
const LOOK_EVERY_MS = 1_000;

/** Prints each delivery on a line, as JSON with `--json`, until the command is stopped. */
async function followEvents({ perform, out, stopped }: OperationContext, filter: object): Promise<void> {
  const signal = stopped();
  const next = await createFollower((cursor) =>
    perform(listEventDeliveries, { query: { ...filter, ...(cursor && { cursor }) } }),
  );
  out.note('Waiting for deliveries. Stop with Ctrl-C.');
  let isAnswered = true;
  while (!signal.aborted) {
    const page = await next().catch((error: unknown) => {
      if (signal.aborted) return null;
      if (!(error instanceof CommandError) || error.code !== 'NOT_ANSWERED') throw error;
      if (isAnswered) out.note(`${error.message}. Deliveries are printed when it answers again.`);
      return null;
    });
    isAnswered = page !== null;
    const { data, refused, has_more } = page ?? { data: [], refused: [], has_more: false };
    for (const event of data)
      out.print(
        out.asJson ? JSON.stringify(event) : COLUMNS.flatMap(([, cell]) => cell(event) ?? []).join('  '),
      );
    for (const { cause, description, refused: count } of refused) {
      const words = `refused: ${counted(count, 'delivery', 'deliveries')} ${description}`;
      out.print(out.asJson ? JSON.stringify({ cause, refused: count }) : printable(words));
    }
    if (!has_more) await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

function printEvent(out: Output, event: ResultOf<typeof getEvent>): void {
  const { body, body_absent, conflicts, effects, unapplied, subject, in_effect, flags, ...fields } = event;
  const days = { in_effect_from: in_effect?.from, in_effect_until: in_effect?.until };
  printPairs(out, { ...fields, flags: flags.join(', '), ...days, ...subject });
  out.print(`\n${bodyInLines(event)}`);
  const { stored, not_stored, last_not_stored_at } = conflicts;
  if (stored + not_stored === 0) return;
  out.print(`\n${counted(stored, 'conflicting body', 'conflicting bodies')} with the same id`);
  if (not_stored > 0)
    out.print(`${not_stored} more received and not stored, the last at ${last_not_stored_at}`);
  out.note(`To print them: benefits-sidecar events conflicts ${printable(event.id)}`);
}

function printConflicts(out: Output, page: ResultOf<typeof listEventConflicts>): void {
  if (page.data.length === 0) out.print('No conflicting bodies.');
  for (const conflict of page.data) {
    out.print(`Conflicting body, received ${conflict.received_at}`);
    if (conflict.dismissed_at !== null) out.print(`Dismissed: ${printable(conflict.dismissed_reason ?? '')}`);
    out.print(`${bodyInLines(conflict)}\n`);
  }
  if (page.has_more) out.note(`There are more. Continue with --cursor ${page.next_cursor}`);
}

/** Returns the body with JSON indented, and each line safe for a terminal. */
function bodyInLines({ body, body_absent }: { body: string | null; body_absent: string | null }): string {
  if (body === null) return body_absent ?? '';
  let lines = body;
  try {
    lines = JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // Not JSON: shown as it was received.
  }
  return lines.split('\n').map(printable).join('\n');
}

/** Changes nothing if an id is unknown or its body was dropped. */
async function reprocessEach({ perform }: OperationContext, ids: readonly string[]): Promise<void> {
  for (const event_id of ids) {
    const { body, body_absent } = await perform(getEvent, { params: { event_id } });
    if (body === null) throw failed(`${event_id} cannot be reprocessed. ${body_absent}`);
  }
  for (const event_id of ids) await perform(reprocessEvent, { params: { event_id } });
}

function printReprocessed(
  out: Output,
  { reprocessed, without_body }: ResultOf<typeof reprocessEvents>,
): void {
  out.print(`${counted(reprocessed, 'event')} set to pending`);
  if (without_body > 0)
    out.note(`${counted(without_body, 'event')} skipped: the body was deleted by RETENTION_EVENTS.`);
  if (reprocessed > 0) out.note('The sidecar applies them now, or when it starts.');
}
