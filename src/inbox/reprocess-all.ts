import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { type EventFilter, reprocessEvents } from './events.ts';

/** Events set to pending per transaction: about 10 of the 50 ms that the write lock may be held. */
const REPROCESSED_AT_ONCE = 500;

/** `withoutBody`: how many were left alone because their bodies are dropped. */
export type Reprocessed = { reprocessed: number; withoutBody: number };

/**
 * Puts every event that came before `now` (an instant) and passes the filter back to pending, the oldest first. Dismissed
 * ones are left alone. In steps, so that deliveries are stored between them; after each, `stepped` is told how many it
 * put back, and how many all of them so far.
 */
export async function reprocessAll(
  db: Db,
  filter: EventFilter,
  now: string,
  stepped: (step: number, all: number) => void | Promise<void>,
): Promise<Reprocessed> {
  const bounded = untilNow(filter, now);
  let reprocessed = 0;
  let withoutBody = 0;
  for (let after: number | null = 0; after !== null; ) {
    const step: { after: number; limit: number } = { after, limit: REPROCESSED_AT_ONCE };
    const done = await transact(db, (trx) => reprocessEvents(trx, bounded, step));
    reprocessed += done.reprocessed;
    withoutBody += done.withoutBody;
    after = done.next;
    await stepped(done.reprocessed, reprocessed);
  }
  return { reprocessed, withoutBody };
}

/** Without an upper bound, the loop would chase events that arrive and are applied while it runs. */
function untilNow(filter: EventFilter, now: string): EventFilter {
  const until = filter.until === undefined || filter.until > now ? now : filter.until;
  return { ...filter, until, dismissed: false };
}
