import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { ago } from '../checks.ts';
import type { SharedNow } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { Log } from '../telemetry/log.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';
import type { RefusalCause } from './receiver.ts';

/** The time between two writes of the counts. Refused deliveries cost a sender nothing, so they must cost little here. */
const FLUSH_EVERY_MS = 5_000;
/** How long the counts are kept: longer than the provider retries one event. */
const KEPT_DAYS = 7;

/** Counts refused deliveries by cause and the minute in which they are saved, and keeps nothing else of them. */
export function createRefusals(sharedNow: SharedNow, log: Log) {
  let counted = new Map<RefusalCause, number>();
  let unlogged = new Map<RefusalCause, number>();
  const report = rateLimited(({ count }) => {
    const causes = [...unlogged].map(([cause, refused]) => `${refused} ${cause}`).join(', ');
    unlogged = new Map();
    log.warn({ count, cause: causes }, 'webhook deliveries were refused');
  });

  /** Writes the counts since the last call. They are kept while the database is unavailable. */
  const flush = async (db: Db): Promise<void> => {
    if (counted.size === 0) return;
    const taken = counted;
    counted = new Map();
    try {
      await transact(db, async (trx) => {
        const minute = minuteOf(await sharedNow(trx));
        // In one order, because several sidecars count the same minutes.
        for (const [cause, refused] of [...taken].sort()) {
          await trx
            .insertInto('refused_signatures')
            .values({ minute, cause, refused_count: refused })
            .onConflict((conflict) =>
              conflict
                .columns(['minute', 'cause'])
                .doUpdateSet({
                  refused_count: sql<number>`refused_signatures.refused_count + excluded.refused_count`,
                }),
            )
            .execute();
        }
      });
    } catch {
      for (const [cause, refused] of taken) counted.set(cause, (counted.get(cause) ?? 0) + refused);
    }
  };

  return {
    count(cause: RefusalCause): void {
      for (const counts of [counted, unlogged]) counts.set(cause, (counts.get(cause) ?? 0) + 1);
      report({ code: '', count: 1 });
    },
    flush,
    async run(db: Db, signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await delay(FLUSH_EVERY_MS, undefined, { signal }).catch(() => {});
        await flush(db);
      }
    },
  };
}

/** The counted deliveries of each cause in words, after their number. */
const CAUSES: Readonly<Record<string, string>> = {
  headers: 'without complete signature headers',
  timestamp: 'with a time more than 5 minutes off',
  encoding: 'with a body that is not UTF-8',
  signature: 'without a valid signature',
  path: 'to another path than /webhooks',
  method: 'with another method than POST',
  compressed: 'with a Content-Encoding',
  size: 'of more than 256 KiB',
  unreadable: 'cut off, too slow or not HTTP',
  unstored: 'that could not be stored',
} satisfies Record<RefusalCause, string>;

/** Returns `without a valid signature`, for a number of deliveries. */
export function describeCause(cause: string): string {
  return CAUSES[cause] ?? cause;
}

/** Deletes the counts that are older than a week. */
export async function dropRefusals(db: Db, now: Date): Promise<void> {
  const oldest = ago(now, KEPT_DAYS * 86_400_000);
  await transact(db, (trx) => trx.deleteFrom('refused_signatures').where('minute', '<', oldest).execute());
}

function minuteOf(at: Date): string {
  return `${at.toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length)}Z`;
}

/** Returns the deliveries that were refused since a minute, by cause. */
export async function refusedSince(db: Db, since: Date): Promise<{ cause: string; refused: number }[]> {
  return db
    .selectFrom('refused_signatures')
    .select(['cause', (eb) => eb.fn.sum<number>('refused_count').as('refused')])
    .where('minute', '>=', minuteOf(since))
    .groupBy('cause')
    .orderBy('cause')
    .execute();
}
