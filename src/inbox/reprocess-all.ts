import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { type EventFilter, reprocessEvents } from './events.ts';

/** Events set to pending per transaction: about 10 of the 50 ms that the write lock may be held. */
const REPROCESSED_AT_ONCE = 500;

/** `withoutBody`: how many were skipped because their bodies are dropped. */
export type Reprocessed = { reprocessed: number; withoutBody: number };

/**
 * Sets every event that was received before `now` (an instant) and matches the filter back to pending, oldest
 * first. Dismissed events are skipped. Works in steps, so that deliveries are stored in between; `stepped` is
 * called after each with its count and the total so far.
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
