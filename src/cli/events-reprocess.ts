import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { BODY_DROPPED, reprocessEvent } from '../inbox/events.ts';
import { type Reprocessed, reprocessAll } from '../inbox/reprocess-all.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { type FilterOptions, filterOf } from './event-filter.ts';
import { unknownEvent } from './events-show.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { printable } from './output.ts';
import { type Progress, showProgress } from './progress.ts';

type Options = FilterOptions & { json?: true };

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
    else out.print(`${reprocessed} ${reprocessed === 1 ? 'event' : 'events'} put back to pending`);
    if (withoutBody > 0) out.note(`${withoutBody} left alone: their bodies are dropped (RETENTION_EVENTS)`);
    if (reprocessed > 0) out.note('a running "serve" applies them now; otherwise the next one does');
    return 0;
  });
}

/** All or, when an id is unknown or its body dropped, none: a mistyped list changes nothing. */
function reprocessEach(db: Db, ids: readonly string[], progress: Progress): Promise<Reprocessed> {
  return transact(db, async (trx) => {
    for (const [index, id] of ids.entries()) {
      const found = await reprocessEvent(trx, id);
      if (found === 'unknown') throw unknownEvent(id);
      if (found === 'body dropped') throw new CommandFailed(`${printable(id)}: ${BODY_DROPPED}`);
      progress.set(index + 1);
    }
    return { reprocessed: ids.length, withoutBody: 0 };
  });
}
