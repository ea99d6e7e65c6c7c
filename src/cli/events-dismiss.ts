import { transact } from '../database/transaction.ts';
import { viewEvent } from '../inbox/event-view.ts';
import { dismissEvent, getEvent } from '../inbox/events.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { unknownEvent } from './events-show.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { reasonOf } from './reason.ts';

/** Says that nothing is to be done about an event: readiness no longer fails for it. */
export async function eventsDismiss(
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
      throw new CommandFailed(
        `${printable(eventId)} needs no dismissal: it is neither quarantined nor in a conflict or tie`,
      );
    }
    const event = await getEvent(db, eventId);
    if (json && event !== null) out.json(viewEvent(event.event));
    else out.print(`dismissed ${printable(eventId)}`);
    return 0;
  });
}
