/** RETENTION_REQUESTS: erases what is left of requests that ended long ago. */
import { sql } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import { holdRetention } from '../database/retention.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';

/** Requests erased in one transaction: some 5 ms of the 50 that the write lock may be held. */
const ERASED_AT_ONCE = 200;
/** Attempts removed in one: a request that the service forbade for a year has 35,000. */
export const ATTEMPTS_AT_ONCE = 1_000;

/**
 * Erases some of the requests that were delivered or cancelled before an instant: their attempts, and the service's
 * answer to one that was rejected before it was cancelled. Their bodies are erased already. What stays: the row with
 * its id, the keyed hash of its body, and the idempotency key, for the same key must answer the first result for ever.
 * Rejected ones stay whole: a person may send them again. Answers how many, and whether there may be more to do.
 */
export async function eraseRequests(
  db: Db,
  before: string,
  now: string,
): Promise<{ dropped: number; more: boolean }> {
  // A look that locks and writes nothing: mostly there is nothing to do.
  if ((await ended(db, before).select('request_id').limit(1).executeTakeFirst()) === undefined) {
    return { dropped: 0, more: false };
  }
  return transact(db, async (trx) => {
    await holdRetention(trx);
    const rows = await ended(trx, before)
      .select('request_id')
      .orderBy('finished_at')
      .limit(ERASED_AT_ONCE)
      .execute();
    const ids = rows.map((row) => row.request_id);
    if (ids.length === 0) return { dropped: 0, more: false };
    if ((await removeAttempts(trx, ids)) === ATTEMPTS_AT_ONCE) return { dropped: 0, more: true };
    await trx
      .updateTable('outbox')
      .set({ answer: null, erased_at: now })
      .where(isOneOf(trx, 'request_id', ids))
      .execute();
    return { dropped: ids.length, more: ids.length === ERASED_AT_ONCE };
  });
}

/** What `eraseRequests` would erase by and by, with so many attempts. */
export async function requestsDue(
  db: Db,
  before: string,
): Promise<{ count: number; attempts: number; oldest: string | null }> {
  const { count, attempts, oldest } = await ended(db, before)
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      sql<number>`coalesce(sum(attempts), 0)`.as('attempts'),
      fn.min<string | null>('finished_at').as('oldest'),
    ])
    .executeTakeFirstOrThrow();
  return { count: Number(count), attempts: Number(attempts), oldest };
}

// Its first two conditions are those of the index `outbox_to_erase`.
function ended(db: Db | Trx, before: string) {
  return db
    .selectFrom('outbox')
    .where('finished_at', 'is not', null)
    .where('erased_at', 'is', null)
    .where('finished_at', '<', before)
    .where('state', 'in', ['delivered', 'cancelled']);
}

async function removeAttempts(trx: Trx, ids: readonly string[]): Promise<number> {
  const some = trx
    .selectFrom('delivery_attempts')
    .select(['request_id', 'attempt'])
    .where(isOneOf(trx, 'request_id', ids))
    .limit(ATTEMPTS_AT_ONCE);
  const { numAffectedRows } = await sql`
    delete from delivery_attempts where (request_id, attempt) in (${some})`.execute(trx);
  return Number(numAffectedRows ?? 0);
}
