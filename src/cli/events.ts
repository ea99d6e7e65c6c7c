/** The commands of events. */

import { Option } from 'commander';
import type { Db, EventState } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { AppError } from '../errors.ts';
import { eventCursor, viewEvent, viewWholeEvent } from '../inbox/event-view.ts';
import {
  BODY_DROPPED,
  dismissEvent,
  type EventFilter,
  getEvent,
  listEvents,
  reprocessEvent,
  type StoredEvent,
} from '../inbox/events.ts';
import { type Reprocessed, reprocessAll } from '../inbox/reprocess-all.ts';
import { type Kept, shownBody } from '../inbox/stored-body.ts';
import { instant, reasonOf, truth } from './arguments.ts';
import type { Command } from './command.ts';
import { confirm } from './confirm.ts';
import { type Context, withDatabase } from './context.ts';
import { failed, wrongUsage } from './failure.ts';
import {
  type Column,
  counted,
  type Progress,
  printable,
  printPage,
  printPairs,
  showProgress,
} from './output.ts';

export function addEventCommands(program: Command): void {
  const events = program.command('events').description('Show, reprocess and dismiss webhook events.');
  const list = events.command('list').description('List events, newest first.');
  filtered(list)
    .examples(
      'events list',
      'events list --state quarantined --dismissed false',
      'events list --from 2026-07-01 --until 2026-08-01 --json',
    )
    .option('--dismissed <true|false>', 'Only dismissed events (true), or others (false)', truth)
    .page()
    .does(eventsList);
  events
    .command('show')
    .description('Show an event with its body, and conflicting bodies with the same id.')
    .examples('events show msg_2b7Kq')
    .argument('<event-id>', 'The id of the event')
    .json()
    .does(eventsShow);
  const reprocess = events
    .command('reprocess')
    .description('Apply events again. Events that took effect do not take effect twice.')
    .examples('events reprocess msg_2b7Kq', 'events reprocess --state quarantined --from 2026-07-01');
  filtered(reprocess.argument('[event-id...]', 'The ids of events; without ids, use filters'))
    .json()
    .does(eventsReprocess);
  events
    .command('dismiss')
    .description('Mark a quarantined event, a conflict or a tie as reviewed.')
    .examples('events dismiss msg_2b7Kq --reason "test event of the provider"')
    .argument('<event-id>', 'The id of the event')
    .reason('Why; stored with the event')
    .confirmed()
    .json()
    .does(eventsDismiss);
}

function filtered(command: Command): Command {
  return command
    .addOption(
      new Option('--state <state>', 'Only events in this state').choices([
        'pending',
        'applied',
        'ignored',
        'quarantined',
      ]),
    )
    .option('--type <event-type>', 'Only this type, such as employee.deduction-updated')
    .option('--from <time>', 'Only events received at or after this time', instant)
    .option('--until <time>', 'Only events received before this time', instant);
}

/** The options that `events list` and `events reprocess` share. */
type FilterOptions = { state?: EventState; type?: string; from?: string; until?: string };

export function filterOf({ state, type, from, until }: FilterOptions): EventFilter {
  return { state, eventType: type, from, until };
}

type ListOptions = FilterOptions & { dismissed?: boolean; limit: number; cursor?: string; json?: true };

function eventsList(context: Context, options: ListOptions): Promise<number> {
  const { out } = context;
  const { dismissed, limit, cursor, json } = options;
  const before = eventCursor.decode(cursor);
  return withDatabase(context, async (db) => {
    const { events, next } = await listEvents(db, { ...filterOf(options), dismissed }, { before, limit });
    const page = eventCursor.page(events.map(viewEvent), next);
    printPage(out, json, page, { columns: COLUMNS, rows: events, none: 'No matching events.' });
    return 0;
  });
}

const COLUMNS: readonly Column<StoredEvent>[] = [
  ['received', (event) => event.received_at],
  ['event', (event) => event.event_id],
  ['type', (event) => event.event_type, 1],
  ['state', (event) => (event.dismissed_at === null ? event.state : `${event.state}, dismissed`)],
  ['reason', (event) => event.dismissed_reason ?? event.reason, 'cut'],
];

function eventsShow(context: Context, eventId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const found = await getEvent(db, eventId);
    if (found === null) throw unknownEvent(eventId);
    const { event, conflicts } = found;
    if (json) {
      out.json(viewWholeEvent(found));
      return 0;
    }
    printPairs(out, viewEvent(event));
    out.print(`\n${forPeople(event)}`);
    for (const conflict of conflicts) {
      out.print(`\nConflicting body with the same id, received ${conflict.received_at}`);
      if (conflict.dismissed_at !== null)
        out.print(`Dismissed: ${printable(conflict.dismissed_reason ?? '')}`);
      out.print(forPeople(conflict));
    }
    return 0;
  });
}

function unknownEvent(eventId: string): AppError {
  return failed(`there is no event ${printable(eventId)}: find it with "benefits-sidecar events list"`);
}

/** Indents JSON and makes each line safe for a terminal. */
function forPeople(kept: Kept): string {
  const { body: text, body_absent } = shownBody(kept);
  if (text === null) return `No body: ${body_absent}`;
  let lines: string;
  try {
    lines = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    lines = text;
  }
  return lines.split('\n').map(printable).join('\n');
}

type ReprocessOptions = FilterOptions & { json?: true };

/** Puts events back to pending, by id or by filter. A running `serve` applies them within a second. */
async function eventsReprocess(context: Context, ids: string[], options: ReprocessOptions): Promise<number> {
  const { out, now } = context;
  const asked = filterOf(options);
  const byFilter = Object.values(asked).some((value) => value !== undefined);
  if (byFilter === ids.length > 0) {
    throw wrongUsage(
      'name events by id, or by at least one of --state, --type, --from and --until, but not both',
    );
  }
  return withDatabase(context, async (db) => {
    const progress = await showProgress(out, 'events set to pending', byFilter ? null : ids.length);
    let done: Reprocessed;
    try {
      done = byFilter
        ? await reprocessAll(db, asked, now().toISOString(), (_, all) => progress.set(all))
        : await reprocessEach(db, ids, progress);
    } finally {
      progress.end();
    }
    const { reprocessed, withoutBody } = done;
    if (options.json) out.json({ reprocessed, without_body: withoutBody });
    else out.print(`${counted(reprocessed, 'event')} set to pending`);
    if (withoutBody > 0) {
      out.note(`${counted(withoutBody, 'event')} skipped: the body was deleted by RETENTION_EVENTS.`);
    }
    if (reprocessed > 0) out.note('The sidecar applies them now, or when it starts.');
    return 0;
  });
}

/** Changes nothing if an id is unknown or its body was dropped. */
function reprocessEach(db: Db, ids: readonly string[], progress: Progress): Promise<Reprocessed> {
  return transact(db, async (trx) => {
    for (const [index, id] of ids.entries()) {
      const found = await reprocessEvent(trx, id);
      if (found === 'unknown') throw unknownEvent(id);
      if (found === 'body dropped') throw failed(`${printable(id)}: ${BODY_DROPPED}`);
      progress.set(index + 1);
    }
    return { reprocessed: ids.length, withoutBody: 0 };
  });
}

async function eventsDismiss(
  context: Context,
  eventId: string,
  { reason, yes, json }: { reason: string; yes?: true; json?: true },
): Promise<number> {
  const { out, now } = context;
  const why = reasonOf(reason);
  return withDatabase(context, async (db) => {
    const shown = await getEvent(db, eventId);
    if (shown === null) throw unknownEvent(eventId);
    const { event_type, state } = shown.event;
    const conflicts = counted(shown.conflicts.length, 'conflict');
    await confirm(context, {
      yes,
      effects: [printable(`${eventId}: ${event_type ?? 'unknown type'}, ${state}, ${conflicts}.`)],
      question: 'Dismiss it? Readiness stops reporting it, and a dismissal cannot be undone.',
    });
    const found = await transact(db, (trx) => dismissEvent(trx, eventId, why, now().toISOString()));
    if (found === 'unknown') throw unknownEvent(eventId);
    if (found === 'nothing to dismiss') {
      throw failed(
        `${printable(eventId)} cannot be dismissed: it is neither quarantined nor part of a conflict or tie`,
      );
    }
    const event = await getEvent(db, eventId);
    if (json && event !== null) out.json(viewEvent(event.event));
    else out.print(`Dismissed ${printable(eventId)}`);
    return 0;
  });
}
