/** The commands of events. */
import { setTimeout as delay } from 'node:timers/promises';
import { databaseNow } from '../database/engine.ts';
import type { Db, EventState } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { CONFLICTS_LIMIT, CONFLICTS_STORED, listConflicts } from '../inbox/conflicts.ts';
import {
  conflictCursor,
  type EventView,
  shownBody,
  viewConflict,
  viewEvents,
  viewWholeEvent,
} from '../inbox/event-views.ts';
import {
  BODY_DROPPED,
  dismissEvent,
  type EventFilter,
  eventCursor,
  getEvent,
  type KeptBody,
  listEvents,
  type Reprocessed,
  reprocessAll,
  reprocessEvent,
} from '../inbox/events.ts';
import { createFollower } from '../inbox/follow.ts';
import { describeRefused } from '../inbox/refusals.ts';
import type { Acting } from '../security/audit.ts';
import { instant, truth, wholeNumber } from './arguments.ts';
import {
  actingIn,
  type Command,
  confirm,
  type DatabaseContext,
  type PageOptions,
  withDatabase,
} from './command.ts';
import { failed, unknownId, wrongUsage } from './failure.ts';
import {
  type Column,
  counted,
  printable,
  printPage,
  printPairs,
  printResult,
  withProgress,
} from './output.ts';

export function addEventCommands(program: Command): void {
  const events = program.subcommand('events', 'Show, reprocess and dismiss webhook events.');
  filtered(events.subcommand('list', 'List events, newest first.').records('none'))
    .examples(
      'events list --state quarantined --dismissed false',
      'events list --from 2026-07-01 --until 2026-08-01 --json',
      'events list --follow',
    )
    .option('--dismissed <true|false>', 'Only dismissed events (true), or others (false)', truth)
    .option('--follow', 'Print deliveries as they arrive, and refused ones by cause, until Ctrl-C')
    .page()
    .doesOnDatabase(async (context, options: ListOptions) => {
      const { db, out } = context;
      const { dismissed, limit, cursor, follow } = options;
      if (follow) return followEvents(context, { ...filterOf(options), dismissed });
      const page = { before: eventCursor.decode(cursor), limit };
      const { events, next } = await listEvents(db, { ...filterOf(options), dismissed }, page);
      const rows = await viewEvents(db, events, true);
      printPage(out, eventCursor.page(rows, next), { columns: COLUMNS, rows, none: 'No matching events.' });
    });
  events
    .subcommand('show', 'Show an event with its body and its result.')
    .records('none')
    .examples('events show msg_2b7Kq')
    .argument('<event-id>', 'The id of the event')
    .json()
    .doesOnDatabase(async ({ db, out }, eventId: string) => {
      const stored = await foundEvent(db, eventId);
      const view = await viewWholeEvent(db, stored, true);
      printResult(out, view, () => {
        const { body, body_absent, conflicts, effects, unapplied, subject, in_effect, flags, ...fields } =
          view;
        const days = { in_effect_from: in_effect?.from, in_effect_until: in_effect?.until };
        printPairs(out, { ...fields, flags: flags.join(', '), ...days, ...subject });
        out.print(`\n${bodyInLines(stored.event)}`);
        if (stored.conflicts === null) return;
        const { stored_count, unstored_count, last_unstored_at } = stored.conflicts;
        out.print(`\n${counted(stored_count, 'conflicting body', 'conflicting bodies')} with the same id`);
        if (unstored_count > 0)
          out.print(`${unstored_count} more received and not stored, the last at ${last_unstored_at}`);
        out.note(`To print them: benefits-sidecar events conflicts ${printable(eventId)}`);
      });
    });
  events
    .subcommand('conflicts', 'Print conflicting bodies that were received with the id of an event.')
    .records('none')
    .examples('events conflicts msg_2b7Kq', 'events conflicts msg_2b7Kq --limit 20 --json')
    .argument('<event-id>', 'The id of the event')
    .option('--limit <number>', 'Print at most this many', wholeNumber(1, CONFLICTS_STORED), CONFLICTS_LIMIT)
    .option('--cursor <cursor>', 'Continue after the previous page, which printed this cursor')
    .json()
    .doesOnDatabase(async ({ db, out }, eventId: string, { limit, cursor }: PageOptions) => {
      await foundEvent(db, eventId);
      const page = { after: conflictCursor.decode(cursor), limit };
      const { conflicts, next } = await listConflicts(db, eventId, page);
      const views = conflictCursor.page(conflicts.map(viewConflict), next);
      printResult(out, views, () => {
        if (conflicts.length === 0) out.print('No conflicting bodies.');
        for (const conflict of conflicts) {
          const { received_at, dismissed_at, dismissed_reason } = conflict;
          out.print(`Conflicting body, received ${received_at}`);
          if (dismissed_at !== null) out.print(`Dismissed: ${printable(dismissed_reason ?? '')}`);
          out.print(`${bodyInLines(conflict)}\n`);
        }
        if (next !== null) out.note(`There are more. Continue with --cursor ${views.next_cursor}`);
      });
    });
  const reprocess = events
    .subcommand('reprocess', 'Apply events again. Events that took effect do not take effect twice.')
    .records('event.reprocess')
    .examples('events reprocess msg_2b7Kq', 'events reprocess --state quarantined --from 2026-07-01');
  filtered(reprocess.argument('[event-id...]', 'The ids of events; without ids, use filters'))
    .json()
    .does(async (context, ids: string[], options: FilterOptions) => {
      const { out, now } = context;
      const filter = filterOf(options);
      const byFilter = Object.values(filter).some((value) => value !== undefined);
      if (byFilter === ids.length > 0) {
        throw wrongUsage(
          'name events by id, or by at least one of --state, --type, --from and --until, but not both',
        );
      }
      const total = byFilter ? null : ids.length;
      const progress = 'events set to pending';
      const { reprocessed, withoutBody } = await withProgress(out, progress, total, ({ set }) =>
        withDatabase(context, async (db) =>
          byFilter
            ? reprocessAll(db, filter, actingIn(context, await databaseNow(db, now)), (_, all) => set(all))
            : reprocessEach(db, ids, actingIn(context), set),
        ),
      );
      const result = { reprocessed, without_body: withoutBody };
      printResult(out, result, `${counted(reprocessed, 'event')} set to pending`);
      if (withoutBody > 0) {
        out.note(`${counted(withoutBody, 'event')} skipped: the body was deleted by RETENTION_EVENTS.`);
      }
      if (reprocessed > 0) out.note('The sidecar applies them now, or when it starts.');
    });
  events
    .subcommand('dismiss', 'Mark a quarantined event, a conflict or a tie as reviewed.')
    .records('event.dismiss')
    .examples('events dismiss msg_2b7Kq --reason "test event of the provider"')
    .argument('<event-id>', 'The id of the event')
    .reason('Why; stored with the event')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, eventId: string, { reason }: { reason: string }) => {
      const { db, out } = context;
      const { event, conflicts } = await foundEvent(db, eventId);
      const kind = `${event.event_type ?? 'unknown type'}, ${event.state}`;
      await confirm(
        context,
        [`${eventId}: ${kind}, ${counted(conflicts?.stored_count ?? 0, 'conflict')}.`],
        'Dismiss it? Readiness stops reporting it, and a dismissal cannot be undone.',
      );
      const outcome = await transact(db, (trx) => dismissEvent(trx, eventId, reason, actingIn(context)));
      if (outcome !== 'dismissed') {
        const why = 'it is neither quarantined nor part of a conflict or tie';
        throw failed(`${eventId} cannot be dismissed: ${why}`);
      }
      const dismissed = await foundEvent(db, eventId);
      const [view] = await viewEvents(db, [dismissed.event], true);
      printResult(out, view, `Dismissed ${eventId}`);
    });
}

/** Adds the options of `FilterOptions`. */
function filtered(command: Command): Command {
  return command
    .choice('--state <state>', 'Only events in this state', ['pending', 'applied', 'ignored', 'quarantined'])
    .option('--type <event-type>', 'Only this type, such as employee.deduction-updated')
    .option('--from <time>', 'Only events received at or after this time', instant)
    .option('--until <time>', 'Only events received before this time', instant);
}

type FilterOptions = { state?: EventState; type?: string; from?: string; until?: string };
type ListOptions = FilterOptions & PageOptions & { dismissed?: boolean; follow?: boolean };

function filterOf({ state, type, from, until }: FilterOptions): EventFilter {
  return { state, eventType: type, from, until };
}

const COLUMNS: readonly Column<EventView>[] = [
  ['received', (event) => event.received_at],
  ['event', (event) => event.id],
  ['type', (event) => event.event_type, 1],
  [
    'state',
    ({ state, dismissed_at, flags }) => [state, ...(dismissed_at ? ['dismissed'] : []), ...flags].join(', '),
  ],
  ['reason', (event) => event.dismissed_reason ?? event.reason, 'cut'],
];

/** How often `--follow` reads the database. Receivers save their counts of refused requests every 5 seconds. */
const LOOK_EVERY_MS = 1_000;

/** Prints each delivery on a line, as JSON with `--json`, until the command is stopped. */
async function followEvents({ db, out, now, stopped }: DatabaseContext, filter: EventFilter): Promise<void> {
  const signal = stopped();
  const next = await createFollower(db, filter, now);
  out.note('Waiting for deliveries. Stop with Ctrl-C.');
  while (!signal.aborted) {
    const { events, refused } = await next();
    for (const view of await viewEvents(db, events, true))
      out.print(
        out.asJson ? JSON.stringify(view) : COLUMNS.flatMap(([, cell]) => cell(view) ?? []).join('  '),
      );
    for (const counted of refused)
      out.print(out.asJson ? JSON.stringify(counted) : `refused: ${describeRefused(counted)}`);
    await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

async function foundEvent(db: Db, eventId: string) {
  const stored = await getEvent(db, eventId);
  if (stored === null) throw unknownId('event', eventId, 'events list');
  return stored;
}

/** Returns the body with JSON indented, and each line safe for a terminal. */
function bodyInLines(kept: KeptBody): string {
  const { body: text, body_absent } = shownBody(kept);
  if (text === null) return body_absent ?? '';
  let lines = text;
  try {
    lines = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON: shown as it was received.
  }
  return lines.split('\n').map(printable).join('\n');
}

/** Changes nothing if an id is unknown or its body was dropped. */
function reprocessEach(
  db: Db,
  ids: readonly string[],
  acting: Acting,
  done: (events: number) => void,
): Promise<Reprocessed> {
  return transact(db, async (trx) => {
    for (const [index, id] of ids.entries()) {
      const outcome = await reprocessEvent(trx, id, acting);
      if (outcome === 'unknown') throw unknownId('event', id, 'events list');
      if (outcome === 'body dropped') throw failed(`${id}: ${BODY_DROPPED}`);
      done(index + 1);
    }
    return { reprocessed: ids.length, withoutBody: 0 };
  });
}
