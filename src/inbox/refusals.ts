import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { ago } from '../checks.ts';
import type { Clock } from '../clock.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { RefusalCause } from './signature.ts';

/** The time between two writes of the counts. Refused deliveries cost a sender nothing, so they must cost little here. */
const FLUSH_EVERY_MS = 5_000;
/** How long the counts are kept: longer than the provider retries one event. */
const KEPT_DAYS = 7;

/** Counts refused deliveries by minute and cause, and keeps nothing else of them. */
export function createRefusals(now: Clock) {
  let counted = new Map<string, number>();

  /** Writes the counts since the last call. They are kept while the database is unavailable. */
  const flush = async (db: Db): Promise<void> => {
    if (counted.size === 0) return;
    const taken = counted;
    counted = new Map();
    try {
      await transact(db, async (trx) => {
        // In one order, because several sidecars count the same minutes.
        for (const [key, refused] of [...taken].sort()) {
          const [minute, cause] = key.split(' ') as [string, string];
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
        const oldest = ago(now(), KEPT_DAYS * 86_400_000);
        await trx.deleteFrom('refused_signatures').where('minute', '<', oldest).execute();
      });
    } catch {
      for (const [key, refused] of taken) counted.set(key, (counted.get(key) ?? 0) + refused);
    }
  };

  return {
    count(cause: RefusalCause): void {
      const key = `${now().toISOString().slice(0, 16)}Z ${cause}`;
      counted.set(key, (counted.get(key) ?? 0) + 1);
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
} satisfies Record<RefusalCause, string>;

/** Returns `1 delivery without a valid signature`. */
export function describeRefused({ cause, refused }: { cause: string; refused: number }): string {
  return `${refused} ${refused === 1 ? 'delivery' : 'deliveries'} ${CAUSES[cause] ?? cause}`;
}

export async function refusedSince(db: Db, since: Date): Promise<{ cause: string; refused: number }[]> {
  return db
    .selectFrom('refused_signatures')
    .select(['cause', (eb) => eb.fn.sum<number>('refused_count').as('refused')])
    .where('minute', '>=', `${since.toISOString().slice(0, 16)}Z`)
    .groupBy('cause')
    .orderBy('cause')
    .execute();
}
