import { viewEvent, viewWholeEvent } from '../inbox/event-view.ts';
import { getEvent } from '../inbox/events.ts';
import { type Kept, shownBody } from '../inbox/stored-body.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { printPairs } from './table.ts';

/** One event with its body: whoever asks for it by its id wants to see what came. */
export function eventsShow(context: Context, eventId: string, { json }: { json?: true }): Promise<number> {
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

export function unknownEvent(eventId: string): CommandFailed {
  return new CommandFailed(
    `there is no event ${printable(eventId)}: "benefits-sidecar events list" shows those that came`,
  );
}

/** Indented where it is JSON; each line made safe for a terminal. */
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
