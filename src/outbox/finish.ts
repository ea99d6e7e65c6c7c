import type { Updateable } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import { forUpdate } from '../database/engine.ts';
import type { OutboxTable, Trx } from '../database/tables.ts';
import type { Encryptor } from '../security/encryption.ts';
import { applySignals, type CircuitBreaker, type Signal } from './circuit-breaker.ts';
import { backToPending, endAttempt } from './claims.ts';
import { placeOf, subjectName, updateFronts } from './queue.ts';
import {
  after,
  backoffMs,
  isUnknown,
  judge,
  type Outcome,
  reasonOf,
  SLOW_RETRY_MS,
  type Verdict,
} from './retry.ts';
import type { Claim, Disposition, NotNow, Senders } from './sender.ts';

/** Bytes kept of a rejection: enough to read the reason, few enough to keep permanently. */
const ANSWER_KEPT_BYTES = 4 * 1024;

export type Finishing = { owner: string; senders: Senders; encryptor: Encryptor; random: () => number };

/** The result to record for a claim: an attempt's outcome, or that it cannot be sent now. */
export type End = { readonly claim: Claim } & (
  | { readonly outcome: Outcome }
  | { readonly decide: NotNow['decide'] }
);

export type Finished = {
  how: Verdict | Disposition['outcome'];
  reason: string;
  breaker: CircuitBreaker['state'] | null;
};

/** `unknown`: an attempt may have been applied. `delayMs`: until the next attempt; null if there is none. */
type Judged = {
  end: End;
  how: Finished['how'];
  status: number | null;
  reason: string;
  unknown: boolean;
  delayMs: number | null;
};

/**
 * Records how claims ended. The caller has locked their subjects. Returns null for a claim that was taken
 * over, and writes nothing for it. Delivered claims share statements, because they are most of the work.
 */
export async function finish(
  trx: Trx,
  by: Finishing,
  ends: readonly End[],
  now: Date,
): Promise<(Finished | null)[]> {
  const owned = await ownedBy(trx, by.owner, ends);
  const judged = new Map<End, Judged>();
  for (const end of ends) {
    const before = owned.get(end.claim.requestId);
    if (before !== undefined) judged.set(end, await judgeEnd(trx, by, end, before));
  }
  const all = [...judged.values()];
  const delivered = all.filter(({ how }) => how === 'delivered');
  await deliver(trx, delivered, now);
  for (const one of all) if (one.how !== 'delivered') await writeOther(trx, by, one, now);
  const claims = all.map(({ end }) => end.claim);
  const ended = all.filter(({ delayMs }) => delayMs === null).map(({ end }) => subjectName(end.claim));
  await updateFronts(trx, claims, new Set(ended));
  for (const { end, how, status, reason, unknown } of all) {
    if (how === 'later' || how === 'canceled') continue;
    const { claim } = end;
    await by.senders[claim.kind]?.finished?.(trx, claim, { verdict: how, status, reason, unknown, now });
  }
  const changes = await applySignals(trx, all.map(signalOf), now);
  const finished = new Map<End, Finished>();
  for (const [index, { end, how, reason }] of all.entries()) {
    finished.set(end, { how, reason, breaker: changes[index] ?? null });
  }
  return ends.map((end) => finished.get(end) ?? null);
}

/** Returns the claims that the caller still owns, each in its current attempt. */
async function ownedBy(trx: Trx, owner: string, ends: readonly End[]) {
  const attempts = new Map(ends.map(({ claim }) => [claim.requestId, claim.attempt]));
  const rows = await forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select(['request_id', 'attempts', 'unknown_outcome'])
      .where(isOneOf(trx, 'request_id', [...attempts.keys()]))
      .where('claimed_by', '=', owner),
  ).execute();
  return new Map(
    rows
      .filter((row) => row.attempts === attempts.get(row.request_id))
      .map((row) => [row.request_id, { unknown: row.unknown_outcome === 1 }]),
  );
}

async function judgeEnd(trx: Trx, { random }: Finishing, end: End, before: { unknown: boolean }) {
  const { attempt } = end.claim;
  if ('decide' in end) {
    const disposition = await end.decide(trx);
    const { outcome: how, reason } = disposition;
    const delayMs = how === 'later' ? (disposition.delayMs ?? backoffMs(attempt, random)) : null;
    return { end, how, status: null, reason, unknown: before.unknown, delayMs };
  }
  const { outcome } = end;
  const how = judge(outcome);
  return {
    end,
    how,
    status: outcome.answered ? outcome.status : null,
    reason: reasonOf(outcome),
    unknown: before.unknown || isUnknown(outcome),
    delayMs: delayMsOf(how, outcome, attempt, random),
  };
}

function delayMsOf(how: Verdict, outcome: Outcome, attempt: number, random: () => number): number | null {
  if (how === 'delivered' || how === 'rejected') return null;
  if (how === 'hold') return SLOW_RETRY_MS;
  // The circuit breaker delays it. It goes to the end, so that one odd request is not every probe.
  if (how === 'pause') return 0;
  return backoffMs(attempt, random, outcome.answered ? outcome.retryAfterMs : null);
}

/** Erases the bodies. Each of these requests has exactly one unfinished attempt. */
async function deliver(trx: Trx, delivered: readonly Judged[], now: Date): Promise<void> {
  const finished_at = now.toISOString();
  for (const [status, those] of Map.groupBy(delivered, (one) => one.status)) {
    const ids = those.map(({ end }) => end.claim.requestId);
    await trx
      .updateTable('outbox')
      .set({ ...ENDED, state: 'delivered', finished_at, status, reason: null, body: null })
      .where(isOneOf(trx, 'request_id', ids))
      .execute();
    await trx
      .updateTable('delivery_attempts')
      .set({ finished_at, status, reason: those[0]?.reason ?? null })
      .where(isOneOf(trx, 'request_id', ids))
      .where('finished_at', 'is', null)
      .execute();
  }
}

async function writeOther(trx: Trx, by: Finishing, judged: Judged, now: Date): Promise<void> {
  const { end, how, status, reason, unknown, delayMs } = judged;
  const { requestId, attempt } = end.claim;
  if (delayMs !== null) {
    const dueAt = after(now, delayMs);
    await backToPending(trx, by.senders, { requestId, dueAt, status, reason, unknown }, now);
  } else {
    const more = how === 'rejected' ? rejection(by, judged) : ({ state: 'canceled', body: null } as const);
    await trx
      .updateTable('outbox')
      .set({ ...ENDED, ...more, status, reason, finished_at: now.toISOString() })
      .where('request_id', '=', requestId)
      .execute();
  }
  await endAttempt(trx, { requestId, attempt, status, reason }, now);
}

/** Keeps the body: an operator may retry the request. */
function rejection({ encryptor }: Finishing, { end, unknown }: Judged): Updateable<OutboxTable> {
  const { requestId, kind } = end.claim;
  const answer = 'outcome' in end && end.outcome.answered ? end.outcome.answer : Buffer.alloc(0);
  return {
    state: 'rejected',
    response: encryptor.encrypt(answer.subarray(0, ANSWER_KEPT_BYTES), placeOf(requestId, 'response')),
    may_have_been_applied: unknown ? 1 : 0,
    // Without the employee, later changes would be rejected too. An operator decides.
    holds_later: kind === 'new-hire' ? 1 : 0,
  };
}

const ENDED = { is_next: 0, claimed_by: null, lease_expires_at: null } as const;

function signalOf({ end, how, reason }: Judged): Signal {
  const answered = 'outcome' in end ? end.outcome.answered : null;
  return { probe: end.claim.probe, pauses: how === 'pause', answered, reason };
}
