import { sql } from 'kysely';
import { ago } from '../checks.ts';
import { lockName } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';

/** Chunks per transaction: about 2 MiB, 10 of the 50 ms of the write lock. */
const CHUNKS_AT_ONCE = 8;
/** An upload may still be reading a census that was replaced, for as long as an upload may take. */
const REPLACED_KEPT_MS = 20 * 60 * 1000;
/** Staging that never ended because its process died. The slowest source times out after minutes. */
const STAGING_KEPT_MS = 6 * 60 * 60 * 1000;

/** Fingerprints per transaction, about 200 bytes each. */
const FINGERPRINTS_AT_ONCE = 1_000;

/** Removes replaced and unfinished censuses, and returns how many. The last upload's fingerprints stay. */
export async function tidyCensuses(db: Db, now: Date): Promise<number> {
  const leftovers = await db
    .selectFrom('staged_censuses')
    .select('census_id')
    .where(sql<boolean>`state <> 'current'`)
    .where((where) =>
      where.or([
        where('replaced_at', '<', ago(now, REPLACED_KEPT_MS)),
        where.and([where('state', '=', 'staging'), where('staged_at', '<', ago(now, STAGING_KEPT_MS))]),
      ]),
    )
    .where((where) => where.or([where('uploaded_at', 'is', null), where('body_bytes', '>', 0)]))
    .execute();
  for (const { census_id } of leftovers) await dropCensus(db, census_id);
  return leftovers.length;
}

/** Removes a census that is not current, its row last. The row and fingerprints of the last upload stay. */
export async function dropCensus(db: Db, censusId: string): Promise<void> {
  await inSteps(db, CHUNKS_AT_ONCE, (trx) => dropChunks(trx, censusId));
  if (!(await transact(db, (trx) => isForgotten(trx, censusId)))) return;
  await inSteps(db, FINGERPRINTS_AT_ONCE, (trx) => dropFingerprints(trx, censusId));
  await transact(db, async (trx) => {
    await trx.deleteFrom('staged_censuses').where('census_id', '=', censusId).execute();
  });
}

/** Repeats a step until it removes fewer rows than its limit. */
async function inSteps(db: Db, atOnce: number, step: (trx: Trx) => Promise<number>): Promise<void> {
  for (;;) {
    const removed = await transact(db, async (trx) => {
      // One process at a time: another would find no chunks left and remove the row too early.
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

/** Marks a census as removed, so that it cannot become the last upload. Returns whether its row can go. */
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
