/** The commands of events. */
import { type Command, Option } from 'commander';
import type { Db, EventState } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { AppError } from '../errors.ts';
import { eventCursor, viewEvent, viewWholeEvent } from '../inbox/event-view.ts';
import {
  BODY_DROPPED,
  dismissEvent,
  type EventFilter,
  getEvent,
  listEvents,
  reprocessEvent,
} from '../inbox/events.ts';
import { type Reprocessed, reprocessAll } from '../inbox/reprocess-all.ts';
import { type Kept, shownBody } from '../inbox/stored-body.ts';
import { cursorOption, instant, jsonOption, limitOption, reasonOf, truth } from './arguments.ts';
import { type Act, type Context, withDatabase } from './context.ts';
import {
  counted,
  notePage,
  type Progress,
  printable,
  printPairs,
  printTable,
  shortened,
  showProgress,
} from './output.ts';

export function addEventCommands(program: Command, act: Act): void {
  const events = program.command('events').description('webhook messages that came in');
  const list = events.command('list').description('newest first');
  filtered(list)
    .option('--dismissed <true|false>', 'dismissed, or not dismissed', truth)
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(jsonOption())
    .action(act(eventsList));
  events
    .command('show')
    .description('one event with its body, and what else came under its id')
    .argument('<event-id>')
    .addOption(jsonOption())
    .action(act(eventsShow));
  const reprocess = events.command('reprocess').description('reprocess events; nothing takes effect twice');
  filtered(reprocess.argument('[event-id...]', 'these; or else all that pass the filters'))
    .addOption(jsonOption())
    .action(act(eventsReprocess));
  events
    .command('dismiss')
    .description('mark a quarantined event, a tie or a conflict as seen')
    .argument('<event-id>')
    .requiredOption('--reason <text>', 'why; kept with the event (required)')
    .addOption(jsonOption())
    .action(act(eventsDismiss));
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
    if (json) out.json(page);
    else if (events.length === 0) out.note('no such events');
    else {
      printTable(
        out,
        ['received', 'event', 'type', 'state', 'reason'],
        events.map((event) => [
          event.received_at,
          event.event_id,
          event.event_type,
          event.dismissed_at === null ? event.state : `${event.state}, dismissed`,
          shortened(event.dismissed_reason ?? event.reason),
        ]),
      );
      notePage(out, page.next_cursor);
    }
    return 0;
  });
}

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
      out.print(`\nAnother body under the same id, received ${conflict.received_at}`);
      if (conflict.dismissed_at !== null)
        out.print(`Dismissed: ${printable(conflict.dismissed_reason ?? '')}`);
      out.print(forPeople(conflict));
    }
    return 0;
  });
}

function unknownEvent(eventId: string): AppError {
  return new AppError(
    'COMMAND_FAILED',
    `there is no event ${printable(eventId)}: "benefits-sidecar events list" shows those that came`,
  );
}

/** Indents JSON and makes each line safe for a terminal. */
function forPeople(kept: Kept): string {
  const { body: text, body_absent } = shownBody(kept);
  if (text === null) return `no body: ${body_absent}`;
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
    throw new AppError(
      'WRONG_USAGE',
      'give either event ids, or at least one of --state, --type, --from and --until',
    );
  }
  return withDatabase(context, async (db) => {
    const progress = await showProgress(out, 'events put back to pending', byFilter ? null : ids.length);
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
    else out.print(`${counted(reprocessed, 'event')} put back to pending`);
    if (withoutBody > 0) out.note(`${withoutBody} left alone: their bodies are dropped (RETENTION_EVENTS)`);
    if (reprocessed > 0) out.note('a running "serve" applies them now; otherwise the next one does');
    return 0;
  });
}

/** Changes nothing if an id is unknown or its body was dropped. */
function reprocessEach(db: Db, ids: readonly string[], progress: Progress): Promise<Reprocessed> {
  return transact(db, async (trx) => {
    for (const [index, id] of ids.entries()) {
      const found = await reprocessEvent(trx, id);
      if (found === 'unknown') throw unknownEvent(id);
      if (found === 'body dropped') throw new AppError('COMMAND_FAILED', `${printable(id)}: ${BODY_DROPPED}`);
      progress.set(index + 1);
    }
    return { reprocessed: ids.length, withoutBody: 0 };
  });
}

async function eventsDismiss(
  context: Context,
  eventId: string,
  { reason, json }: { reason: string; json?: true },
): Promise<number> {
  const { out, now } = context;
  const why = reasonOf(reason);
  return withDatabase(context, async (db) => {
    const found = await transact(db, (trx) => dismissEvent(trx, eventId, why, now().toISOString()));
    if (found === 'unknown') throw unknownEvent(eventId);
    if (found === 'nothing to dismiss') {
      throw new AppError(
        'COMMAND_FAILED',
        `${printable(eventId)} needs no dismissal: it is neither quarantined nor in a conflict or tie`,
      );
    }
    const event = await getEvent(db, eventId);
    if (json && event !== null) out.json(viewEvent(event.event));
    else out.print(`dismissed ${printable(eventId)}`);
    return 0;
  });
}
