import { lockName } from '../database/engine.ts';
import { codeOf, isFatal } from '../database/errors.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { Log } from '../observe/log.ts';
import type { Sealer } from '../security/sealing.ts';
import { heartbeat } from './claims.ts';
import type { BenefitsClient } from './client.ts';
import { type Finishing, finish, putOff } from './finish.ts';
import { HEARTBEAT_MS } from './lease.ts';
import type { Verdict } from './retry.ts';
import type { Claim, Post, Prepared, Sender, Senders, Settlement } from './sender.ts';
import { idOf } from './subject.ts';

/** `lost`: the claim was taken over, or left to expire. */
export type Ended = Verdict | Settlement['outcome'] | 'lost';

export type AttemptParts = {
  db: Db;
  client: BenefitsClient;
  sealer: Sealer;
  senders: Senders;
  /** The instant that leases and due times are compared by, inside a transaction. */
  sharedNow: (trx: Trx) => Promise<Date>;
  random: () => number;
  log: Log;
  owner: string;
  /** The process ends: break off, write nothing, let the claim expire. */
  abandoned: AbortSignal;
};

/** One attempt of one claim, from preparing to writing down its end. Throws only what the database throws. */
export function createAttempt(parts: AttemptParts): (claim: Claim) => Promise<Ended> {
  const { db, client, senders, sharedNow, log, owner, abandoned } = parts;
  const finishing: Finishing = parts;

  return async (claim) => {
    const sender = senders[claim.kind];
    const taken = new AbortController();
    const signal = AbortSignal.any([abandoned, taken.signal]);
    const timer = setInterval(() => void beat(claim, taken), HEARTBEAT_MS);
    try {
      const prepared = await prepare(sender, claim, signal);
      if (signal.aborted) return 'lost';
      return prepared.kind === 'post'
        ? await send(sender, claim, prepared, signal)
        : await settle(claim, prepared.settle);
    } finally {
      clearInterval(timer);
    }
  };

  async function beat(claim: Claim, taken: AbortController): Promise<void> {
    try {
      const held = await transact(db, async (trx) => heartbeat(trx, owner, claim, await sharedNow(trx)));
      if (!held) taken.abort();
    } catch (error) {
      log.warn({ request_id: claim.requestId, code: codeOf(error) }, 'lease not renewed');
    }
  }

  async function prepare(sender: Sender | undefined, claim: Claim, signal: AbortSignal): Promise<Prepared> {
    if (sender === undefined) return later(`nothing here sends ${claim.kind}`);
    if (claim.probe) refreshKey();
    try {
      return await sender.prepare(claim, signal);
    } catch (error) {
      if (isFatal(error)) throw error;
      const code = codeOf(error) || 'INTERNAL';
      log.error({ request_id: claim.requestId, kind: claim.kind, code }, 'request not prepared');
      return later(`could not be prepared: ${code}`);
    }
  }

  /** The key may be what is wrong, and may have been replaced. An unreadable file leaves the old one in use. */
  function refreshKey(): void {
    try {
      client.refreshKey();
    } catch (error) {
      log.warn({ code: codeOf(error) }, 'key not read again');
    }
  }

  async function send(
    sender: Sender | undefined,
    claim: Claim,
    post: Post,
    signal: AbortSignal,
  ): Promise<Ended> {
    if (sender?.started) {
      const held = await transact(db, async (trx) => {
        await lockName(trx, claim.subject);
        const at = await sharedNow(trx);
        if (!(await heartbeat(trx, owner, claim, at))) return false;
        await sender.started?.(trx, claim, at);
        return true;
      });
      if (!held) return 'lost';
    }
    const startedAt = performance.now();
    const outcome = await client.post(post, signal);
    if (signal.aborted && !outcome.answered) return 'lost';
    const end = await transact(db, async (trx) => {
      await lockName(trx, claim.subject);
      return finish(trx, finishing, claim, outcome, await sharedNow(trx));
    });
    const fields = {
      request_id: claim.requestId,
      kind: claim.kind,
      ms: Math.round(performance.now() - startedAt),
    };
    if (end === null) {
      log.warn(fields, 'claim was taken over: its outcome is not written down');
      return 'lost';
    }
    log[end.verdict === 'delivered' ? 'info' : 'warn'](
      { ...fields, state: end.verdict, reason: end.reason },
      'attempt',
    );
    if (end.gate !== null) log.warn({ state: end.gate, reason: end.reason }, 'gate');
    return end.verdict;
  }

  async function settle(
    claim: Claim,
    decide: (trx: Parameters<typeof putOff>[0]) => Promise<Settlement>,
  ): Promise<Ended> {
    const settlement = await transact(db, async (trx) => {
      await lockName(trx, claim.subject);
      return putOff(trx, finishing, claim, decide, await sharedNow(trx));
    });
    if (settlement === null) return 'lost';
    const { outcome, reason } = settlement;
    const fields = { request_id: claim.requestId, kind: claim.kind, state: outcome, reason };
    log.warn(
      claim.kind === 'census' ? { ...fields, employer_id: idOf(claim.subject) } : fields,
      'request not sent',
    );
    return outcome;
  }
}

function later(reason: string): Prepared {
  return { kind: 'not-now', settle: async () => ({ outcome: 'later', reason, delayMs: null }) };
}
