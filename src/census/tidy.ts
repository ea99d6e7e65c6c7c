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
  await inSteps(db, CHUNKS_AT_ONCE, (trx) =>
    dropSome(trx, 'census_chunks', 'chunk', censusId, CHUNKS_AT_ONCE),
  );
  if (!(await transact(db, (trx) => isForgotten(trx, censusId)))) return;
  await inSteps(db, FINGERPRINTS_AT_ONCE, (trx) =>
    dropSome(trx, 'census_fingerprints', 'employee_id', censusId, FINGERPRINTS_AT_ONCE),
  );
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

async function dropSome(
  trx: Trx,
  table: 'census_chunks' | 'census_fingerprints',
  key: 'chunk' | 'employee_id',
  censusId: string,
  limit: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where census_id = ${censusId} and ${sql.ref(key)} in (
      select ${sql.ref(key)} from ${sql.table(table)} where census_id = ${censusId}
      order by ${sql.ref(key)} desc limit ${limit})`.execute(trx);
  return Number(numAffectedRows ?? 0);
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
