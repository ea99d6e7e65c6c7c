import type { SharedNow } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codeOf } from '../errors.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import type { Log } from '../telemetry/log.ts';
import { HEARTBEAT_MS, heartbeat } from './claims.ts';
import type { BenefitsClient } from './client.ts';
import type { End } from './finish.ts';
import { SENDING_OFF } from './pilot.ts';
import { lockSubject } from './queue.ts';
import type { Claim, Decision, Post, Sender, Senders } from './sender.ts';

export type Sending = {
  db: Db;
  client: BenefitsClient;
  senders: Senders;
  /** For leases and due times. */
  sharedNow: SharedNow;
  log: Log;
};

/**
 * Returns a function that makes one attempt of a claim; null if it was taken over or must expire. `abandoned` aborts when
 * the process stops: attempts end without a write, and their claims expire.
 */
export function createAttempt(
  parts: Sending & { owner: string; abandoned: AbortSignal },
): (claim: Claim) => Promise<End | null> {
  const { db, client, senders, sharedNow, log, owner, abandoned } = parts;

  return async (claim) => {
    const sender = senders[claim.kind];
    const taken = new AbortController();
    const signal = AbortSignal.any([abandoned, taken.signal]);
    const timer = setInterval(() => void beat(claim, taken), HEARTBEAT_MS);
    try {
      const prepared = await prepare(sender, claim, signal);
      if (signal.aborted) return null;
      if (claim.isUnsent) return { claim, ...unsent(sender, claim, prepared) };
      if (prepared.kind === 'decision') return { claim, ...prepared };
      return await send(sender, claim, prepared, signal);
    } finally {
      clearInterval(timer);
    }
  };

  async function beat(claim: Claim, taken: AbortController): Promise<void> {
    try {
      const held = await transact(db, async (trx) => heartbeat(trx, owner, claim, await sharedNow(trx)));
      if (!held) taken.abort();
    } catch (error) {
      const fields = { request_id: claim.requestId, code: codeOf(error) };
      log.warn(fields, 'the claim on a request could not be renewed');
    }
  }

  async function prepare(
    sender: Sender | undefined,
    claim: Claim,
    signal: AbortSignal,
  ): Promise<Post | Decision> {
    if (sender === undefined) return later(`nothing sends requests of the kind ${claim.kind}`);
    try {
      // If the file is unreadable, the old key stays in use.
      if (claim.rereadsKey) client.refreshKey();
    } catch (error) {
      const message = 'the API key file could not be read again: the current key stays in use';
      log.warn({ code: codeOf(error) }, message);
    }
    try {
      return await sender.prepare(claim, signal);
    } catch (error) {
      if (isFatal(error)) throw error;
      const code = codeOf(error) || 'INTERNAL';
      const reason = `the request could not be prepared: ${keyErrorMessage(error) ?? code}`;
      const fields = { request_id: claim.requestId, kind: claim.kind, code, reason };
      log.error(fields, 'a request could not be prepared: it will be tried again');
      return later(reason);
    }
  }

  async function send(sender: Sender | undefined, claim: Claim, post: Post, signal: AbortSignal) {
    if (sender?.started) {
      const held = await transact(db, async (trx) => {
        await lockSubject(trx, claim);
        const at = await sharedNow(trx);
        if (!(await heartbeat(trx, owner, claim, at))) return false;
        await sender.started?.(trx, claim, at);
        return true;
      });
      if (!held) return null;
    }
    const startedAt = performance.now();
    const outcome = await client.post(post, signal);
    if (signal.aborted && !outcome.responded) return null;
    return { claim, kind: 'attempt' as const, outcome, ms: performance.now() - startedAt };
  }
}

/** Ends a request that would be sent, or tried again, because sending is off. */
function unsent(sender: Sender | undefined, claim: Claim, prepared: Post | Decision): Decision {
  return {
    kind: 'decision',
    async decide(trx) {
      if (prepared.kind === 'decision') await prepared.decide(trx);
      await sender?.unsent?.(trx, claim);
      return { outcome: 'canceled', reason: SENDING_OFF };
    },
  };
}

function later(reason: string): Decision {
  return { kind: 'decision', decide: async () => ({ outcome: 'later', reason, delayMs: null }) };
}
