/** Erases finished requests after RETENTION_REQUESTS, and bodies of a pilot's changes. */
import { sql } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import { holdRetention } from '../database/retention.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';

/** Requests per transaction: about 5 of the 50 ms that the write lock may be held. */
const ERASED_AT_ONCE = 200;
/** Attempts per transaction. A request that gets 403 for a year has 35,000. */
export const ATTEMPTS_AT_ONCE = 1_000;

/**
 * Erases attempts, stored responses and bodies of requests that were delivered or canceled before an instant. The row stays with
 * its id and keyed hash, because a repeated key must return the first result permanently. Rejected requests stay
 * complete: an operator may retry them. Returns how many were erased, and whether there may be more.
 */
export async function eraseRequests(db: Db, before: string, now: string) {
  // Usually there is nothing to do; this check takes no lock.
  if ((await ended(db, before).select('request_id').limit(1).executeTakeFirst()) === undefined) {
    return { dropped: 0, more: false };
  }
  return transact(db, async (trx) => {
    await holdRetention(trx);
    const oldest = ended(trx, before).select('request_id').orderBy('finished_at');
    const rows = await oldest.limit(ERASED_AT_ONCE).execute();
    const ids = rows.map((row) => row.request_id);
    if (ids.length === 0) return { dropped: 0, more: false };
    const attempts = trx
      .selectFrom('delivery_attempts')
      .select(['request_id', 'attempt'])
      .where(isOneOf(trx, 'request_id', ids))
      .limit(ATTEMPTS_AT_ONCE);
    const removed = await sql`
      delete from delivery_attempts where (request_id, attempt) in (${attempts})`.execute(trx);
    if (Number(removed.numAffectedRows) === ATTEMPTS_AT_ONCE) return { dropped: 0, more: true };
    await trx
      .updateTable('outbox')
      .set({ body: null, response: null, erased_at: now })
      .where(isOneOf(trx, 'request_id', ids))
      .execute();
    return { dropped: ids.length, more: ids.length === ERASED_AT_ONCE };
  });
}

/** Returns what `eraseRequests` would erase in total. */
export async function requestsDue(db: Db, before: string) {
  const { count, attempts, oldest } = await ended(db, before)
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      sql<number>`coalesce(sum(attempts), 0)`.as('attempts'),
      fn.min<string | null>('finished_at').as('oldest'),
    ])
    .executeTakeFirstOrThrow();
  return { count: Number(count), attempts: Number(attempts), oldest };
}

// The first two conditions match the index `outbox_to_erase`.
function ended(db: Db | Trx, before: string) {
  return db
    .selectFrom('outbox')
    .where('finished_at', 'is not', null)
    .where('erased_at', 'is', null)
    .where('finished_at', '<', before)
    .where('state', 'in', ['delivered', 'canceled']);
}

/** Erases the bodies of changes that a pilot canceled before an instant. Returns how many, and whether there may be more. */
export async function erasePilotBodies(db: Db, before: string) {
  const due = canceledWithBody(db, before).select('request_id').limit(1);
  if ((await due.executeTakeFirst()) === undefined) return { dropped: 0, more: false };
  return transact(db, async (trx) => {
    await holdRetention(trx);
    const rows = await canceledWithBody(trx, before).select('request_id').limit(ERASED_AT_ONCE).execute();
    const ids = rows.map((row) => row.request_id);
    await trx
      .updateTable('outbox')
      .set({ body: null })
      .where(isOneOf(trx, 'request_id', ids))
      .execute();
    return { dropped: ids.length, more: ids.length === ERASED_AT_ONCE };
  });
}

/** Returns what `erasePilotBodies` would erase in total. */
export async function pilotBodiesDue(db: Db, before: string) {
  const { count, oldest } = await canceledWithBody(db, before)
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.min<string | null>('finished_at').as('oldest'),
    ])
    .executeTakeFirstOrThrow();
  return { count: Number(count), oldest };
}

/** Only a pilot cancels changes with their bodies. The first condition matches the index `outbox_canceled_with_body`. */
function canceledWithBody(db: Db | Trx, before: string) {
  const query = db.selectFrom('outbox').where(sql<boolean>`state = 'canceled' and body is not null`);
  return query.where('finished_at', '<', before);
}

/** Erases the stored responses to the census uploads of an employer: they may quote the census. */
export async function eraseResponses(trx: Trx, employerId: string): Promise<void> {
  await trx
    .updateTable('outbox')
    .set({ response: null })
    .where('subject_type', '=', 'employer')
    .where('subject_id', '=', employerId)
    .where('response', 'is not', null)
    .execute();
}
