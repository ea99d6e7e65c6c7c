import { forUpdate } from '../database/engine.ts';
import type { RequestKind, Subject, Trx } from '../database/tables.ts';
import { lockSubject, updateFront } from './queue.ts';

/** The kinds that operators can retry, cancel or release. A census upload follows from its syncs instead. */
export const CHANGE_KINDS = [
  'new-hire',
  'termination',
  'demographic',
  'compensation-change',
] as const satisfies readonly RequestKind[];
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/**
 * Retries a rejected change before later ones, and a pending one immediately. Refused, unless forced, if a
 * newer change of the subject was delivered, which this one would undo.
 */
export async function retryManually(
  trx: Trx,
  requestId: string,
  { force, now }: { force: boolean; now: string },
): Promise<'done' | 'not-found' | 'not-retried' | 'newer-delivered'> {
  const change = await findAlone(trx, requestId);
  if (change === undefined) return 'not-found';
  if (change.state === 'pending') {
    await trx.updateTable('outbox').set({ due_at: now }).where('request_id', '=', requestId).execute();
    return 'done';
  }
  if (change.state !== 'rejected') return 'not-retried';
  if (!force && (await isNewerDelivered(trx, change))) return 'newer-delivered';
  await trx
    .updateTable('outbox')
    .set({
      state: 'pending',
      holds_later: 0,
      due_at: now,
      status: null,
      reason: null,
      response: null,
      finished_at: null,
    })
    .where('request_id', '=', requestId)
    .execute();
  await updateFront(trx, change);
  return 'done';
}

/** Cancels a pending or rejected change permanently and erases its body. */
export async function cancelManually(
  trx: Trx,
  requestId: string,
  { reason, now }: { reason: string; now: string },
): Promise<'done' | 'not-found' | 'being-sent' | 'finished'> {
  const change = await findAlone(trx, requestId);
  if (change === undefined) return 'not-found';
  if (change.state === 'sending') return 'being-sent';
  if (change.state !== 'pending' && change.state !== 'rejected') return 'finished';
  await trx
    .updateTable('outbox')
    .set({ state: 'canceled', is_next: 0, holds_later: 0, body: null, reason, finished_at: now })
    .where('request_id', '=', requestId)
    .execute();
  await updateFront(trx, change);
  return 'done';
}

/** Releases the changes that wait for a rejected new hire. */
export async function releaseManually(trx: Trx, requestId: string) {
  const change = await findAlone(trx, requestId);
  if (change === undefined) return 'not-found';
  if (change.holds_later === 0) return 'not-blocking';
  await trx.updateTable('outbox').set({ holds_later: 0 }).where('request_id', '=', requestId).execute();
  await updateFront(trx, change);
  return 'done';
}

/** Returns the change with its subject locked. */
async function findAlone(trx: Trx, requestId: string) {
  const change = await changeOf(trx, requestId).executeTakeFirst();
  if (change === undefined) return undefined;
  await lockSubject(trx, change);
  return forUpdate(trx, changeOf(trx, requestId)).executeTakeFirst();
}

function changeOf(trx: Trx, requestId: string) {
  return trx
    .selectFrom('outbox')
    .select(['seq', 'subject_type', 'subject_id', 'state', 'holds_later'])
    .where('request_id', '=', requestId)
    .where('kind', 'in', CHANGE_KINDS);
}

async function isNewerDelivered(trx: Trx, change: Subject & { seq: number }): Promise<boolean> {
  const newer = await trx
    .selectFrom('outbox')
    .select('seq')
    .where('subject_type', '=', change.subject_type)
    .where('subject_id', '=', change.subject_id)
    .where('seq', '>', change.seq)
    .where('state', '=', 'delivered')
    .limit(1)
    .executeTakeFirst();
  return newer !== undefined;
}
