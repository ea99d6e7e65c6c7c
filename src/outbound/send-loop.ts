import { randomUUID } from 'node:crypto';
import { createBell } from '../bell.ts';
import { codeOf, isFatal } from '../database/errors.ts';
import { transact } from '../database/transaction.ts';
import { type AttemptParts, createAttempt, type Ended } from './attempt.ts';
import { claim } from './claims.ts';
import type { Claim } from './sender.ts';

/** Enough to drain a morning's changes in seconds; the service's own limits are unknown, so not more. */
const CONCURRENCY = 8;
/** Other processes and threads enqueue without a word to this loop, and due times pass: look this often. */
const POLL_MS = 1_000;
/** What is in flight may end by itself this long after a stop; the private side has 8 s in all. */
const GRACE_MS = 6_000;

export type SendLoopParts = Omit<AttemptParts, 'owner' | 'abandoned'> & { concurrency?: number };

/** How many claims ended how. */
export type Counts = Record<Ended, number>;

export type SendLoop = {
  /** Claims what is due, as much as may go at once, and waits until each is done. */
  runOnce(): Promise<Counts>;
  /**
   * Sends until the signal, then lets what is in flight end for a bounded time; a claim left over expires and is
   * taken over. Rejects when the database must not be used further.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Something was enqueued: look at once. */
  wake(): void;
};

export function createSendLoop(parts: SendLoopParts): SendLoop {
  const { db, sharedNow, log, senders } = parts;
  const limit = parts.concurrency ?? CONCURRENCY;
  const owner = randomUUID();
  const abandon = new AbortController();
  const attempt = createAttempt({ ...parts, owner, abandoned: abandon.signal });
  const inFlight = new Map<string, Promise<Ended>>();
  let allowed = limit;
  let fatal: unknown = null;
  const bell = createBell();

  async function start(): Promise<Promise<Ended>[]> {
    const free = allowed - inFlight.size;
    if (free <= 0) return [];
    const wish = { owner, limit: free, inFlight: new Set(inFlight.keys()), senders };
    const found = await transact(db, async (trx) => claim(trx, wish, await sharedNow(trx)));
    if (found.gateClosed) allowed = 1;
    return found.claims.map(begin);
  }

  function begin(claimed: Claim): Promise<Ended> {
    const sending = attempt(claimed)
      .catch((error: unknown): Ended => {
        if (isFatal(error)) fatal ??= error;
        log.error(
          { request_id: claimed.requestId, code: codeOf(error) || 'INTERNAL' },
          'attempt not written down',
        );
        return 'lost';
      })
      .then((ended) => {
        inFlight.delete(claimed.requestId);
        if (ended === 'delivered') allowed = Math.min(limit, allowed * 2);
        bell.ring();
        return ended;
      });
    inFlight.set(claimed.requestId, sending);
    return sending;
  }

  async function drain(): Promise<void> {
    const timer = setTimeout(() => abandon.abort(), GRACE_MS);
    await Promise.all(inFlight.values());
    clearTimeout(timer);
  }

  return {
    async runOnce() {
      const counts: Counts = { ...NO_COUNTS };
      for (const ended of await Promise.all(await start())) counts[ended] += 1;
      if (fatal !== null) throw fatal;
      return counts;
    },
    async run(signal) {
      while (!signal.aborted && fatal === null) {
        try {
          await start();
        } catch (error) {
          if (isFatal(error)) fatal ??= error;
          log.error({ code: codeOf(error) || 'INTERNAL' }, 'requests not claimed');
        }
        await bell.wait(POLL_MS, signal);
      }
      await drain();
      if (fatal !== null) throw fatal;
    },
    wake: bell.ring,
  };
}

const NO_COUNTS: Counts = {
  delivered: 0,
  retry: 0,
  'close-gate': 0,
  hold: 0,
  rejected: 0,
  later: 0,
  cancelled: 0,
  lost: 0,
};
