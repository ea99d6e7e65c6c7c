import { forUpdate, lockName } from '../database/engine.ts';
import type { RequestKind, Trx } from '../database/tables.ts';
import { updateFront } from './queue.ts';

/** What a person may do to an employment change. A census upload follows from its syncs and is not handled by hand. */
export const CHANGE_KINDS = [
  'new-hire',
  'termination',
  'demographic',
  'compensation-change',
] as const satisfies readonly RequestKind[];
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/**
 * Sends a rejected change once more, before what waits behind it; one that waits for its next try is tried at once.
 * Refused when a newer one of the subject was delivered, which this one would undo, unless forced. `not-found` also
 * when it is no employment change.
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
      holding: 0,
      due_at: now,
      status: null,
      reason: null,
      answer: null,
      finished_at: null,
    })
    .where('request_id', '=', requestId)
    .execute();
  await updateFront(trx, change.subject);
  return 'done';
}

/** Gives up a change that waits or was rejected, for ever; its body is erased. One that is being sent can't be called back. */
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
    .set({ state: 'cancelled', head: 0, holding: 0, body: null, reason, finished_at: now })
    .where('request_id', '=', requestId)
    .execute();
  await updateFront(trx, change.subject);
  return 'done';
}

/** Lets the changes behind a rejected new hire go out although it was not accepted. */
export async function releaseManually(
  trx: Trx,
  requestId: string,
): Promise<'done' | 'not-found' | 'not-holding'> {
  const change = await findAlone(trx, requestId);
  if (change === undefined) return 'not-found';
  if (change.holding === 0) return 'not-holding';
  await trx.updateTable('outbox').set({ holding: 0 }).where('request_id', '=', requestId).execute();
  await updateFront(trx, change.subject);
  return 'done';
}

/** The change as it is once nobody else decides about its subject. */
async function findAlone(trx: Trx, requestId: string) {
  const change = await changeOf(trx, requestId).executeTakeFirst();
  if (change === undefined) return undefined;
  await lockName(trx, change.subject);
  return forUpdate(trx, changeOf(trx, requestId)).executeTakeFirst();
}

function changeOf(trx: Trx, requestId: string) {
  return trx
    .selectFrom('outbox')
    .select(['seq', 'subject', 'state', 'holding'])
    .where('request_id', '=', requestId)
    .where('kind', 'in', CHANGE_KINDS);
}

async function isNewerDelivered(trx: Trx, change: { seq: number; subject: string }): Promise<boolean> {
  const newer = await trx
    .selectFrom('outbox')
    .select('seq')
    .where('subject', '=', change.subject)
    .where('seq', '>', change.seq)
    .where('state', '=', 'delivered')
    .limit(1)
    .executeTakeFirst();
  return newer !== undefined;
}
