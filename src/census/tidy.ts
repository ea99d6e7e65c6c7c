import { sql } from 'kysely';
import { lockName } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';

/** Chunks removed in one transaction: some 2 MiB, whose pages SQLite overwrites: ten of the 50 ms of the write lock. */
const CHUNKS_AT_ONCE = 8;
/** An upload of a census that was just replaced may still be reading it, for as long as an upload may take. */
const REPLACED_KEPT_MS = 20 * 60 * 1000;
/** A staging that never ended: its process died. The slowest source is given up after minutes. */
const STAGING_KEPT_MS = 6 * 60 * 60 * 1000;

/** Fingerprints removed in one transaction: some 200 bytes each. */
const FINGERPRINTS_AT_ONCE = 1_000;

/**
 * Removes what was replaced and what was left unfinished, in small steps. Answers how many censuses. Of the one that
 * the service took last the fingerprints stay: a newer census is compared with them.
 */
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
    .where((where) => where.or([where('uploaded_at', 'is', null), where('body_bytes', '>', 0)]))
    .execute();
  for (const { census_id } of leftovers) await dropCensus(db, census_id);
  return leftovers.length;
}

/**
 * Removes a census that is not current: its chunks first and its row at the end, so that a crash forgets nothing. Of
 * the one that the service took last the row and the fingerprints stay.
 */
export async function dropCensus(db: Db, censusId: string): Promise<void> {
  await inSteps(db, CHUNKS_AT_ONCE, (trx) => dropChunks(trx, censusId));
  if (!(await transact(db, (trx) => isForgotten(trx, censusId)))) return;
  await inSteps(db, FINGERPRINTS_AT_ONCE, (trx) => dropFingerprints(trx, censusId));
  await transact(db, async (trx) => {
    await trx.deleteFrom('staged_censuses').where('census_id', '=', censusId).execute();
  });
}

/** Removes at most so many a time, until there are fewer. */
async function inSteps(db: Db, atOnce: number, step: (trx: Trx) => Promise<number>): Promise<void> {
  for (;;) {
    const removed = await transact(db, async (trx) => {
      // Of two that tidy, one would find nothing left while the other still removes, and forget the rest.
      await lockName(trx, 'tidy');
      return step(trx);
    });
    if (removed < atOnce) return;
  }
}

async function dropChunks(trx: Trx, censusId: string): Promise<number> {
  const some = trx
    .selectFrom('census_chunks')
    .select('chunk')
    .where('census_id', '=', censusId)
    .orderBy('chunk', 'desc')
    .limit(CHUNKS_AT_ONCE);
  const { numDeletedRows } = await trx
    .deleteFrom('census_chunks')
    .where('census_id', '=', censusId)
    .where('chunk', 'in', some)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

async function dropFingerprints(trx: Trx, censusId: string): Promise<number> {
  const some = trx
    .selectFrom('census_fingerprints')
    .select('employee_id')
    .where('census_id', '=', censusId)
    .limit(FINGERPRINTS_AT_ONCE);
  const { numDeletedRows } = await trx
    .deleteFrom('census_fingerprints')
    .where('census_id', '=', censusId)
    .where('employee_id', 'in', some)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/**
 * Whether nothing of it is needed any more. From here on it has no bytes of a body: it is not looked at again for
 * them, and can't become the one that the service took last.
 */
async function isForgotten(trx: Trx, censusId: string): Promise<boolean> {
  const row = await trx
    .updateTable('staged_censuses')
    .set({ body_bytes: 0 })
    .where('census_id', '=', censusId)
    .where(sql<boolean>`state <> 'current'`)
    .returning('uploaded_at')
    .executeTakeFirst();
  return row !== undefined && row.uploaded_at === null;
}
