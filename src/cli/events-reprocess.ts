import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { type EventFilter, reprocessEvent, reprocessEvents } from '../inbound/events.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { type FilterOptions, filterOf } from './event-filter.ts';
import { unknownEvent } from './events-show.ts';
import { WrongUsage } from './failure.ts';
import { type Progress, showProgress } from './progress.ts';

type Options = FilterOptions & { json?: true };

/** Events in one transaction: some 10 ms of the 50 that the write lock may be held beside a running `serve`. */
const AT_ONCE = 500;

/** Puts events back to pending, by id or by filter. A running `serve` applies them within a second. */
export async function eventsReprocess(context: Context, ids: string[], options: Options): Promise<number> {
  const { out, now } = context;
  const asked = filterOf(options);
  const byFilter = Object.values(asked).some((value) => value !== undefined);
  if (byFilter === ids.length > 0) {
    throw new WrongUsage('give either event ids, or at least one of --state, --type, --from and --until');
  }
  return withDatabase(context, async (db) => {
    const progress = await showProgress(out, 'events put back to pending', byFilter ? null : ids.length);
    let reprocessed: number;
    try {
      reprocessed = byFilter
        ? await reprocessAll(db, untilNow(asked, now().toISOString()), progress)
        : await reprocessEach(db, ids, progress);
    } finally {
      progress.end();
    }
    if (options.json) out.json({ reprocessed });
    else out.print(`${reprocessed} ${reprocessed === 1 ? 'event' : 'events'} put back to pending`);
    if (reprocessed > 0) out.note('a running "serve" applies them now; otherwise the next one does');
    return 0;
  });
}

/** Without an end the loop would run after the events that come in, and are applied, meanwhile. */
function untilNow(asked: EventFilter, now: string): EventFilter {
  const until = asked.until === undefined || asked.until > now ? now : asked.until;
  return { ...asked, until, dismissed: false };
}

async function reprocessAll(db: Db, filter: EventFilter, progress: Progress): Promise<number> {
  let reprocessed = 0;
  let after: number | null = 0;
  while (after !== null) {
    const step = { after, limit: AT_ONCE };
    const done: Awaited<ReturnType<typeof reprocessEvents>> = await transact(db, (trx) =>
      reprocessEvents(trx, filter, step),
    );
    reprocessed += done.reprocessed;
    after = done.next;
    progress.set(reprocessed);
  }
  return reprocessed;
}

/** All or, when an id is unknown, none: a mistyped list changes nothing. */
function reprocessEach(db: Db, ids: readonly string[], progress: Progress): Promise<number> {
  return transact(db, async (trx) => {
    for (const [index, id] of ids.entries()) {
      if (!(await reprocessEvent(trx, id))) throw unknownEvent(id);
      progress.set(index + 1);
    }
    return ids.length;
  });
}
