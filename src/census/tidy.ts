import { sql } from 'kysely';
import { lockName } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';

/** Chunks removed in one transaction: some 5 MiB, a few milliseconds of the 50 that the write lock may be held. */
const CHUNKS_AT_ONCE = 20;
/** An upload of a census that was just replaced may still be reading it, for as long as an upload may take. */
const REPLACED_KEPT_MS = 20 * 60 * 1000;
/** A staging that never ended: its process died. The slowest source is given up after minutes. */
const STAGING_KEPT_MS = 6 * 60 * 60 * 1000;

/** Removes what was replaced and what was left unfinished, in small steps. Answers how many censuses. */
export async function tidyCensuses(db: Db, now: Date): Promise<number> {
  const ago = (ms: number): string => new Date(now.getTime() - ms).toISOString();
  const leftovers = await db
    .selectFrom('staged_censuses')
    .select('census_id')
    .where(sql<boolean>`state <> 'current'`)
    .where((where) =>
      where.or([
        where('replaced_at', '<', ago(REPLACED_KEPT_MS)),
        where.and([where('state', '=', 'staging'), where('staged_at', '<', ago(STAGING_KEPT_MS))]),
      ]),
    )
    .execute();
  for (const { census_id } of leftovers) await dropCensus(db, census_id);
  return leftovers.length;
}

/** Removes a census that is not current and its chunks; the chunks first, so that a crash forgets none. */
export async function dropCensus(db: Db, censusId: string): Promise<void> {
  for (;;) {
    const removed = await transact(db, async (trx) => {
      // Of two that tidy, one would find nothing left while the other still removes, and forget the rest.
      await lockName(trx, 'tidy');
      const chunks = trx
        .selectFrom('census_chunks')
        .select('chunk')
        .where('census_id', '=', censusId)
        .orderBy('chunk', 'desc')
        .limit(CHUNKS_AT_ONCE);
      const result = await trx
        .deleteFrom('census_chunks')
        .where('census_id', '=', censusId)
        .where('chunk', 'in', chunks)
        .executeTakeFirst();
      if (result.numDeletedRows < CHUNKS_AT_ONCE) {
        await trx
          .deleteFrom('staged_censuses')
          .where('census_id', '=', censusId)
          .where(sql<boolean>`state <> 'current'`)
          .execute();
      }
      return Number(result.numDeletedRows);
    });
    if (removed < CHUNKS_AT_ONCE) return;
  }
}
