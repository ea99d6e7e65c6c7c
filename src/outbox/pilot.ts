/**
 * The pilot: until it ends, nothing is sent to the benefits service, by any process, and nothing of it is sent afterward. It
 * belongs to the database. Employment changes are canceled when they are reported; census uploads end as their syncs do.
 */
import type { Selectable } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import { lockWrites } from '../database/engine.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { type Acting, forEmployers, record, recordAll, recordsOf } from '../security/audit.ts';
import { resumeSending } from './circuit-breaker.ts';
import { CHANGE_KINDS } from './manual.ts';

/** Why the requests of a pilot end. */
export const SENDING_OFF = 'sending is off';

/** How long the bodies of a pilot's changes are kept for comparison with those that the present receiver sent. */
export const PILOT_BODIES_DAYS = 30;

export type Pilot = Omit<Selectable<Tables['pilot']>, 'id'>;

/** Returns the database's pilot, also one that ended, or null. */
export async function readPilot(db: Db | Trx): Promise<Pilot | null> {
  const pilot = await db.selectFrom('pilot').select(['started_at', 'ended_at']).executeTakeFirst();
  return pilot ?? null;
}

/** Returns the start of the pilot, or null while sending is on. */
export async function sendingOffSince(db: Db | Trx): Promise<string | null> {
  const pilot = await readPilot(db);
  return pilot?.ended_at === null ? pilot.started_at : null;
}

/**
 * Reports whether the pilot is in progress. No pilot can start while a transaction holds the ledger lock or has locked
 * requests.
 */
export async function isSendingOff(db: Db | Trx): Promise<boolean> {
  return (await sendingOffSince(db)) !== null;
}

/**
 * Starts the pilot, and cancels the changes that wait. Returns false, and changes nothing, if a request was or may have been
 * delivered. The caller has locked the ledger.
 */
export async function startPilot(trx: Trx, acting: Acting): Promise<boolean> {
  // Otherwise a sender that does not know of the pilot could claim a request that was queued since.
  await lockWrites(trx, 'outbox');
  const sent = trx
    .selectFrom('outbox')
    .select('seq')
    .where((where) =>
      where.or([
        where('state', 'in', ['sending', 'delivered']),
        where('unknown_outcome', '=', 1),
        where('may_have_been_applied', '=', 1),
      ]),
    );
  if ((await sent.limit(1).executeTakeFirst()) !== undefined) return false;
  const { now: started_at } = acting;
  await trx.insertInto('pilot').values({ id: 1, started_at, ended_at: null }).execute();
  await record(trx, acting, { action: 'sending.off', resource: null });
  await cancelWaiting(trx, acting);
  await resumeSending(trx);
  return true;
}

/** Cancels the changes that wait or were rejected, so that they cannot be retried after the pilot. */
async function cancelWaiting(trx: Trx, acting: Acting): Promise<void> {
  const waiting = await trx
    .selectFrom('outbox')
    .select(['request_id', 'subject_id'])
    .where('kind', 'in', CHANGE_KINDS)
    .where('state', 'in', ['pending', 'rejected'])
    .orderBy('seq')
    .execute();
  const canceled = { state: 'canceled', is_next: 0, holds_later: 0, reason: SENDING_OFF } as const;
  const ids = waiting.map(({ request_id }) => request_id);
  await trx
    .updateTable('outbox')
    .set({ ...canceled, finished_at: acting.now })
    .where(isOneOf(trx, 'request_id', ids))
    .execute();
  const reports = await recordsOf(trx, 'change.report')
    .where(isOneOf(trx, 'resource_id', ids))
    .orderBy('record_id')
    .execute();
  const reportsOf = Map.groupBy(reports, ({ resource_id }) => resource_id);
  await recordAll(
    trx,
    waiting.flatMap(({ request_id, subject_id }) => {
      const employers = (reportsOf.get(request_id) ?? []).map(({ employer_id }) => employer_id);
      return forEmployers({ ...acting, ...unsentRecord(request_id, subject_id) }, employers);
    }),
  );
}

/** Returns the record of a change that is canceled because sending is off. */
export function unsentRecord(changeId: string, employee: string) {
  return { action: 'change.cancel', resource: changeId, employee, reason: SENDING_OFF } as const;
}

/** Ends the pilot. The caller has locked the ledger. */
export async function endPilot(trx: Trx, ended_at: string): Promise<void> {
  await trx.updateTable('pilot').set({ ended_at }).where('ended_at', 'is', null).execute();
}

/** Returns the changes of the pilot in the order of their reports. */
export function pilotChanges(on: Db | Trx) {
  return on
    .selectFrom('outbox')
    .select(['request_id', 'kind', 'subject_id as employee_id', 'created_at'])
    .where('kind', 'in', CHANGE_KINDS)
    .where('state', '=', 'canceled')
    .where('reason', '=', SENDING_OFF)
    .orderBy('seq')
    .execute();
}
