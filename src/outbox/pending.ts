import type { Trx } from '../database/tables.ts';
import type { Senders } from './sender.ts';

export type PutOff = {
  requestId: string;
  dueAt: string;
  status: number | null;
  reason: string;
  /** This attempt, or one before, may have been applied. */
  unknown: boolean;
};

/**
 * Gives up a claim and lets the request wait for its next attempt, still as its subject's head. Where its kind
 * coalesces, it takes in the newer pending request of its subject: one is sent for both, with this one's
 * attempts and backoff.
 */
export async function backToPending(trx: Trx, senders: Senders, putOff: PutOff, now: Date): Promise<void> {
  await mergeNewer(trx, senders, putOff.requestId, now);
  await trx
    .updateTable('outbox')
    .set({
      state: 'pending',
      due_at: putOff.dueAt,
      claimed_by: null,
      lease_until: null,
      status: putOff.status,
      reason: putOff.reason,
      ...(putOff.unknown && { unknown_outcome: 1 }),
    })
    .where('request_id', '=', putOff.requestId)
    .execute();
}

async function mergeNewer(trx: Trx, senders: Senders, requestId: string, now: Date): Promise<void> {
  const { kind, subject } = await trx
    .selectFrom('outbox')
    .select(['kind', 'subject'])
    .where('request_id', '=', requestId)
    .executeTakeFirstOrThrow();
  const merged = senders[kind]?.merged;
  if (merged === undefined) return;
  const newer = await trx
    .updateTable('outbox')
    .set({
      state: 'cancelled',
      reason: `taken in by request ${requestId}, which is tried again`,
      finished_at: now.toISOString(),
    })
    .where('subject', '=', subject)
    .where('kind', '=', kind)
    .where('state', '=', 'pending')
    .returning('request_id')
    .execute();
  for (const { request_id } of newer) await merged(trx, requestId, request_id);
}
