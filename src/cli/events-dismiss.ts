import { summaryOf } from '../api/routes/events.ts';
import { transact } from '../database/transaction.ts';
import { dismissEvent, getEvent } from '../inbound/events.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { unknownEvent } from './events-show.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { printable } from './output.ts';

/** Of the reason, in characters; the API's own bound. */
const REASON_MOST = 500;

/** Says that nothing is to be done about an event: readiness no longer fails for it. */
export async function eventsDismiss(
  context: Context,
  eventId: string,
  { reason, json }: { reason: string; json?: true },
): Promise<number> {
  const { out, now } = context;
  const why = reason.trim();
  if (why === '' || why.length > REASON_MOST) {
    throw new WrongUsage(`--reason must say why, in at most ${REASON_MOST} characters`);
  }
  return withDatabase(context, async (db) => {
    const found = await transact(db, (trx) => dismissEvent(trx, eventId, why, now().toISOString()));
    if (found === 'unknown') throw unknownEvent(eventId);
    if (found === 'nothing to dismiss') {
      throw new CommandFailed(
        `${printable(eventId)} needs no dismissal: it is neither quarantined nor in a conflict or tie`,
      );
    }
    const event = await getEvent(db, eventId);
    if (json && event !== null) out.json(summaryOf(event.event));
    else out.print(`dismissed ${printable(eventId)}`);
    return 0;
  });
}
