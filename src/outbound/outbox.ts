import { sql } from 'kysely';
import { forUpdate, lockName } from '../database/engine.ts';
import type { RequestKind, Trx } from '../database/tables.ts';
import type { Place, Sealer } from '../security/sealing.ts';
import { settleHead } from './heads.ts';

/** Puts requests into the outbox. What takes them out again: claims.ts, finish.ts and by-hand.ts. */

/** A body at rest: sealed, and its keyed hash, which stays when the body is erased. */
export type SealedBody = { body: Buffer; body_hash: Buffer };

export type NewRequest = {
  requestId: string;
  kind: RequestKind;
  subject: string;
  /** Null when the sender makes the body at the time of sending. */
  sealed: SealedBody | null;
};

/** Where the body or the answer of a request is stored. */
export function placeOf(requestId: string, column: 'body' | 'answer'): Place {
  return { table: 'outbox', row: requestId, column };
}

/** Seals a request's body, before the transaction that enqueues it. */
export function sealBody(sealer: Sealer, requestId: string, body: Uint8Array): SealedBody {
  const place = placeOf(requestId, 'body');
  return { body: sealer.seal(body, place), body_hash: sealer.hash(body, place) };
}

/** Owes a request from now on. The id must be new. */
export async function enqueue(trx: Trx, request: NewRequest, now: string): Promise<void> {
  await lockName(trx, request.subject);
  await trx
    .insertInto('outbox')
    .values({
      request_id: request.requestId,
      kind: request.kind,
      subject: request.subject,
      state: 'pending',
      head: 0,
      due_at: now,
      created_at: now,
      ...(request.sealed ?? { body: null, body_hash: null }),
    })
    .execute();
  await settleHead(trx, request.subject);
}

/**
 * The id of a request of this kind that still waits to be sent for the subject, and does so until the transaction
 * ends: one more need can join it. Who enqueues one where there is none has locked the subject's name before.
 */
export async function pendingRequest(trx: Trx, kind: RequestKind, subject: string): Promise<string | null> {
  // Locked: a send loop may be claiming it just now, and would not look for who joined meanwhile.
  const pending = await forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select('request_id')
      .where('subject', '=', subject)
      .where(sql<boolean>`finished_at is null`)
      .where('kind', '=', kind)
      .where('state', '=', 'pending')
      .orderBy('seq')
      .limit(1),
  ).executeTakeFirst();
  return pending?.request_id ?? null;
}

/** Makes a pending request due now. */
export async function hasten(trx: Trx, requestId: string, now: string): Promise<void> {
  await trx
    .updateTable('outbox')
    .set({ due_at: now })
    .where('request_id', '=', requestId)
    .where('state', '=', 'pending')
    .execute();
}
