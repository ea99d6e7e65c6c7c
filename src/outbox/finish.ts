import { isOneOf } from '../database/bulk.ts';
import { forUpdate } from '../database/engine.ts';
import type { Trx } from '../database/tables.ts';
import { notify } from '../notifications/store.ts';
import type { Encryptor } from '../security/encryption.ts';
import { applySignals, type CircuitBreaker } from './circuit-breaker.ts';
import { endClaim, putOff } from './claims.ts';
import { placeOf, subjectName, updateFronts } from './queue.ts';
import {
  type AttemptOutcome,
  type Before,
  backoffMs,
  holdMs,
  isUnknown,
  isWrongTarget,
  judge,
  reasonOf,
  refusalsAfter,
} from './retry.ts';
import type { Claim, Decision, Ended, Senders } from './sender.ts';

/** Bytes kept of a rejection: enough to read the reason, few enough to keep permanently. */
const RESPONSE_KEPT_BYTES = 4 * 1024;

export type Finishing = { owner: string; senders: Senders; encryptor: Encryptor; random: () => number };

/** The result to record for a claim: an attempt's outcome and how long it took, or that it cannot be sent now. */
export type End = { readonly claim: Claim } & (
  | { readonly kind: 'attempt'; readonly outcome: AttemptOutcome; readonly ms: number }
  | Decision
);

type Judged = {
  end: End;
  how: Exclude<Ended, 'lost'>;
  status: number | null;
  reason: string;
  /** Whether this attempt or an earlier one may have been applied. */
  unknown: boolean;
  refusals: number;
  /** Until the next attempt; null if there is none. */
  delayMs: number | null;
};

/** `breaker`: the state to which the end changed the circuit breaker, or null. `lost`: the claim was taken over. */
export type Finished =
  | ({ readonly kind: 'finished' } & Pick<Judged, 'how' | 'reason'> & {
        breaker: CircuitBreaker['state'] | null;
      })
  | { readonly kind: 'lost' };

/**
 * Records how claims ended. The caller has locked their subjects. Nothing is written for a claim that was taken over.
 * Delivered claims share statements, because they are most of the work.
 */
export async function finish(
  trx: Trx,
  by: Finishing,
  ends: readonly End[],
  now: Date,
): Promise<Map<End, Finished>> {
  if (ends.length === 0) return new Map();
  const owned = await ownedBy(trx, by.owner, ends);
  const judged: Judged[] = [];
  for (const end of ends) {
    const before = owned.get(end.claim.requestId);
    if (before?.attempts === end.claim.attempt) {
      const { unknown_outcome, status, refusals } = before;
      judged.push(await judgeEnd(trx, by, end, { unknown: unknown_outcome === 1, status, refusals }));
    }
  }
  const delivered = judged.filter(({ how }) => how === 'delivered');
  await deliver(trx, delivered, now);
  const undelivered = judged.filter(({ how }) => how !== 'delivered');
  for (const judgedEnd of undelivered) await writeUndelivered(trx, by, judgedEnd, now);
  const claims = judged.map(({ end }) => end.claim);
  const ended = judged.filter(({ delayMs }) => delayMs === null).map(({ end }) => subjectName(end.claim));
  await updateFronts(trx, claims, new Set(ended));
  for (const { end, how, status, reason, unknown } of judged) {
    if (how === 'later' || how === 'canceled') continue;
    const { claim } = end;
    await by.senders[claim.kind]?.finished?.(trx, claim, { verdict: how, status, reason, unknown, now });
  }
  const signals = judged.map(({ end, how, status, reason, refusals }) => ({
    ...{ probe: end.claim.probe, subject: subjectName(end.claim), status, reason },
    responded: end.kind === 'attempt' ? end.outcome.responded : null,
    isDelivered: how === 'delivered',
    isWrongTarget: end.kind === 'attempt' && isWrongTarget(end.outcome),
    isFirst: refusals === 1,
  }));
  const states = await applySignals(trx, signals, now);
  const finished = new Map(
    judged.map(({ end, how, reason }, index): [End, Finished] => [
      end,
      { kind: 'finished', how, reason, breaker: states[index] ?? null },
    ]),
  );
  return new Map(ends.map((end) => [end, finished.get(end) ?? { kind: 'lost' }]));
}

async function ownedBy(trx: Trx, owner: string, ends: readonly End[]) {
  const ids = ends.map(({ claim }) => claim.requestId);
  const rows = await forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select(['request_id', 'attempts', 'unknown_outcome', 'status', 'refusals'])
      .where(isOneOf(trx, 'request_id', ids))
      .where('claimed_by', '=', owner),
  ).execute();
  return new Map(rows.map((row) => [row.request_id, row]));
}

async function judgeEnd(trx: Trx, by: Finishing, end: End, before: Before): Promise<Judged> {
  const { attempt } = end.claim;
  if (end.kind === 'decision') {
    const disposition = await end.decide(trx);
    const { outcome: how, reason } = disposition;
    const delayMs = how === 'later' ? (disposition.delayMs ?? backoffMs(attempt, by.random)) : null;
    return { end, how, status: null, reason, unknown: before.unknown, refusals: 0, delayMs };
  }
  const { outcome } = end;
  const how = judge(outcome, before);
  const status = outcome.responded ? outcome.status : null;
  const refusals = refusalsAfter(outcome, before);
  const unknown = before.unknown || isUnknown(outcome);
  let delayMs: number | null = null;
  if (how === 'hold') delayMs = holdMs(status, refusals);
  else if (how === 'retry') {
    delayMs = backoffMs(attempt, by.random, outcome.responded ? outcome.retryAfterMs : null);
  }
  return { end, how, status, reason: reasonOf(outcome), unknown, refusals, delayMs };
}

/** Erases the bodies. Each of these requests has exactly one unfinished attempt. */
async function deliver(trx: Trx, delivered: readonly Judged[], now: Date): Promise<void> {
  const finished_at = now.toISOString();
  for (const [status, ends] of Map.groupBy(delivered, (judged) => judged.status)) {
    const ids = ends.map(({ end }) => end.claim.requestId);
    const ended = { is_next: 0, claimed_by: null, lease_expires_at: null } as const;
    await trx
      .updateTable('outbox')
      .set({ ...ended, state: 'delivered', finished_at, status, reason: null, body: null })
      .where(isOneOf(trx, 'request_id', ids))
      .execute();
    await trx
      .updateTable('delivery_attempts')
      .set({ finished_at, status, reason: ends[0]?.reason ?? null })
      .where(isOneOf(trx, 'request_id', ids))
      .where('finished_at', 'is', null)
      .execute();
  }
}

async function writeUndelivered(trx: Trx, by: Finishing, judged: Judged, now: Date): Promise<void> {
  const { end, how, status, reason, unknown, refusals, delayMs } = judged;
  const { claim } = end;
  if (delayMs !== null) {
    await putOff(trx, by.senders, claim, { delayMs, status, reason, refusals, unknown }, now);
    return;
  }
  const finished = { is_next: 0, status, reason, finished_at: now.toISOString() } as const;
  if (how === 'canceled') {
    await endClaim(trx, claim, { ...finished, state: 'canceled', body: null }, now);
    return;
  }
  const response = end.kind === 'attempt' && end.outcome.responded ? end.outcome.response : Buffer.alloc(0);
  const kept = response.subarray(0, RESPONSE_KEPT_BYTES);
  // The body stays, because an operator may retry the request.
  const rejected = {
    ...finished,
    state: 'rejected',
    response: by.encryptor.encrypt(kept, placeOf(claim.requestId, 'response')),
    may_have_been_applied: unknown ? 1 : 0,
    // Without the employee, later changes would be rejected too. An operator decides.
    holds_later: claim.kind === 'new-hire' ? 1 : 0,
  } as const;
  if (claim.kind !== 'census') {
    const change = { change_id: claim.requestId, employee_id: claim.subject_id };
    await notify(trx, 'change.rejected', change, now.toISOString());
  }
  await endClaim(trx, claim, rejected, now);
}
