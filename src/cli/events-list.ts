import { eventCursor, viewEvent } from '../inbox/event-view.ts';
import { listEvents } from '../inbox/events.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { type FilterOptions, filterOf } from './event-filter.ts';
import { notePage } from './page.ts';
import { printTable, shortened } from './table.ts';

type Options = FilterOptions & { dismissed?: boolean; limit: number; cursor?: string; json?: true };

/** Events, newest first, without their bodies; the beginnings of their reasons, which `events show` has whole. */
export function eventsList(context: Context, options: Options): Promise<number> {
  const { out } = context;
  const { dismissed, limit, cursor, json } = options;
  const before = eventCursor.decode(cursor);
  return withDatabase(context, async (db) => {
    const { events, next } = await listEvents(db, { ...filterOf(options), dismissed }, { before, limit });
    const next_cursor = eventCursor.encode(next);
    if (json) out.json({ data: events.map(viewEvent), next_cursor });
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
      notePage(out, next_cursor);
    }
    return 0;
  });
}
