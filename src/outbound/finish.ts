import type { Updateable } from 'kysely';
import { forUpdate } from '../database/engine.ts';
import type { OutboxTable, Trx } from '../database/tables.ts';
import type { Sealer } from '../security/sealing.ts';
import { endAttempt } from './claims.ts';
import { closeGate, openGate, probeFailed, reserveProbe } from './gate.ts';
import { settleHead } from './heads.ts';
import { after } from './lease.ts';
import { placeOf } from './outbox.ts';
import { backToPending } from './pending.ts';
import { backoffMs, isUnknown, judge, type Outcome, SLOW_RETRY_MS, type Verdict } from './retry.ts';
import type { Claim, NotNow, Senders, Settlement } from './sender.ts';

/** What is kept of a rejection: enough to read the reason, little enough to keep for ever. */
export const ANSWER_KEPT_BYTES = 4 * 1024;

export type Finishing = {
  owner: string;
  senders: Senders;
  sealer: Sealer;
  random: () => number;
};

export type Finished = { verdict: Verdict; reason: string; gate: 'opened' | 'closed' | null };

/** Writes down the outcome of a claim's attempt; the caller has locked the subject. Null when the claim was taken over: then nothing is written. */
export async function finish(
  trx: Trx,
  by: Finishing,
  claim: Claim,
  outcome: Outcome,
  now: Date,
): Promise<Finished | null> {
  const owned = await ownedBy(trx, by.owner, claim);
  if (owned === null) return null;
  const verdict = judge(outcome);
  const unknown = owned.unknown || isUnknown(outcome);
  const status = outcome.answered ? outcome.status : null;
  const reason = outcome.answered ? `answered ${outcome.status}` : `no answer: ${outcome.code}`;
  if (verdict === 'delivered') {
    await end(trx, claim, 'delivered', { status, body: null, reason: null }, now);
  } else if (verdict === 'rejected' && outcome.answered) {
    const answer = outcome.answer.subarray(0, ANSWER_KEPT_BYTES);
    const rejection = {
      status,
      reason,
      answer: by.sealer.seal(answer, placeOf(claim.requestId, 'answer')),
      may_have_been_applied: owned.unknown ? 1 : 0,
      // Without the employee the later changes would all be rejected too: a person decides.
      holding: claim.kind === 'new-hire' ? 1 : 0,
    } as const;
    await end(trx, claim, 'rejected', rejection, now);
  } else {
    const dueAt = after(now, delayMs(verdict, claim, outcome, by.random));
    await backToPending(trx, by.senders, { requestId: claim.requestId, dueAt, status, reason, unknown }, now);
  }
  await endAttempt(trx, { requestId: claim.requestId, attempt: claim.attempt, status, reason }, now);
  await settleHead(trx, claim.subject);
  await by.senders[claim.kind]?.finished?.(trx, claim, { verdict, status, unknown, now });
  return { verdict, reason, gate: await moveGate(trx, claim, outcome.answered, verdict, reason, now) };
}

/** Writes down that a claimed request can't be sent now; the caller has locked the subject. Null when the claim was taken over. */
export async function putOff(
  trx: Trx,
  by: Finishing,
  claim: Claim,
  settle: NotNow['settle'],
  now: Date,
): Promise<Settlement | null> {
  const owned = await ownedBy(trx, by.owner, claim);
  if (owned === null) return null;
  const settlement = await settle(trx);
  const { reason } = settlement;
  if (settlement.outcome === 'cancelled') {
    await end(trx, claim, 'cancelled', { status: null, body: null, reason }, now);
  } else {
    const dueAt = after(now, settlement.delayMs ?? backoffMs(claim.attempt, by.random));
    const unknown = owned.unknown;
    await backToPending(
      trx,
      by.senders,
      { requestId: claim.requestId, dueAt, status: null, reason, unknown },
      now,
    );
  }
  await endAttempt(trx, { requestId: claim.requestId, attempt: claim.attempt, status: null, reason }, now);
  await settleHead(trx, claim.subject);
  // It asked the service nothing: another request may probe at once.
  if (claim.probe) await reserveProbe(trx, now);
  return settlement;
}

/** The guard of every finish: the claim, and this attempt of it, is still the caller's. */
async function ownedBy(trx: Trx, owner: string, claim: Claim): Promise<{ unknown: boolean } | null> {
  const owned = await forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select('unknown_outcome')
      .where('request_id', '=', claim.requestId)
      .where('claimed_by', '=', owner)
      .where('attempts', '=', claim.attempt),
  ).executeTakeFirst();
  return owned === undefined ? null : { unknown: owned.unknown_outcome === 1 };
}

async function end(
  trx: Trx,
  claim: Claim,
  state: 'delivered' | 'rejected' | 'cancelled',
  fields: Pick<
    Updateable<OutboxTable>,
    'status' | 'reason' | 'body' | 'answer' | 'may_have_been_applied' | 'holding'
  >,
  now: Date,
): Promise<void> {
  await trx
    .updateTable('outbox')
    .set({ state, head: 0, claimed_by: null, lease_until: null, finished_at: now.toISOString(), ...fields })
    .where('request_id', '=', claim.requestId)
    .execute();
}

function delayMs(verdict: Verdict, claim: Claim, outcome: Outcome, random: () => number): number {
  if (verdict === 'hold') return SLOW_RETRY_MS;
  // The gate keeps it back; behind all that are due already, so that one odd request is not every probe.
  if (verdict === 'close-gate') return 0;
  return backoffMs(claim.attempt, random, outcome.answered ? outcome.retryAfterMs : null);
}

async function moveGate(
  trx: Trx,
  claim: Claim,
  answered: boolean,
  verdict: Verdict,
  reason: string,
  now: Date,
): Promise<Finished['gate']> {
  if (verdict === 'close-gate') {
    if (claim.probe) await probeFailed(trx, now);
    return (await closeGate(trx, reason, now)) ? 'closed' : null;
  }
  if (answered) return (await openGate(trx)) ? 'opened' : null;
  if (claim.probe) await probeFailed(trx, now);
  return null;
}
