import { randomUUID } from 'node:crypto';
import { setImmediate as immediately } from 'node:timers/promises';
import { tryLockNames } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import { createNotifier } from '../database/notifier.ts';
import type { Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codeOf } from '../errors.ts';
import type { Encryptor } from '../security/encryption.ts';
import { type Attempted, createAttempt, type Sending } from './attempt.ts';
import { claim, type Slots } from './claims.ts';
import {
  freeSlots,
  fullLimit,
  type Lane,
  type Limit,
  limitAfter,
  reducedToOne,
} from './concurrency-limiter.ts';
import { type Finished, type Finishing, finish } from './finish.ts';
import { lockSubject, subjectName } from './queue.ts';
import type { Verdict } from './retry.ts';
import type { Claim, Disposition } from './sender.ts';

/** Per lane: drains a morning's changes in seconds. The service's own limits are unknown, so not more. */
const CONCURRENCY = 8;
/** Due times pass, and other processes enqueue without waking this loop. */
const POLL_MS = 1_000;
/** How long attempts in flight may continue after a stop. The API thread has 8 s in total. */
const GRACE_MS = 6_000;

export type SendLoopParts = Sending & {
  encryptor: Encryptor;
  /** A monotonic clock in milliseconds, for pauses. */
  elapsedMs: () => number;
  random: () => number;
  /** Called for each claim that ended. */
  onEnded: (how: Ended) => void;
  concurrency?: number;
};

/** How many claims ended in each way. */
export type Counts = Record<Ended, number>;

export type SendLoop = {
  /** Claims the requests that are due, up to the limits, and waits until all of them ended. */
  runOnce(): Promise<Counts>;
  /**
   * Sends until the signal aborts, then waits a bounded time for attempts in flight; remaining claims expire
   * and are taken over. Rejects when the database must not be used any more.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Looks for due requests now, because one was enqueued. */
  wake(): void;
};

/** A claim until its outcome is recorded. */
type Flight = {
  claim: Claim;
  /** In milliseconds of the monotonic clock. */
  startedAt: number;
  attempted: Promise<void>;
  ended: PromiseWithResolvers<Ended>;
};

export function createSendLoop(parts: SendLoopParts): SendLoop {
  const { log, elapsedMs, random, onEnded } = parts;
  const most = parts.concurrency ?? CONCURRENCY;
  const owner = randomUUID();
  const abandon = new AbortController();
  const attempt = createAttempt({ ...parts, owner, abandoned: abandon.signal });
  const batch = createBatch({ ...parts, owner });
  const flights = new Map<string, Flight>();
  /** Attempts that ended and are not recorded yet. */
  let unwritten: Attempted[] = [];
  let limit = fullLimit(most);
  let tookOverAt = Number.NEGATIVE_INFINITY;
  let fatal: unknown = null;
  const notifier = createNotifier();

  /** Records ended attempts, then claims and starts the next ones. */
  async function runBatch(mayClaim: boolean): Promise<Flight[]> {
    const attempted = unwritten;
    unwritten = [];
    const at = elapsedMs();
    if (attempted.length === 0 && slotsAfter([]).limit === 0) return [];
    const inFlight = new Set(flights.keys());
    const takesOver = at - tookOverAt >= POLL_MS;
    let done: Awaited<ReturnType<typeof batch>>;
    try {
      done = await batch({ attempted, slots: slotsAfter, inFlight, takesOver });
      if (takesOver) tookOverAt = at;
    } catch (error) {
      for (const { end } of attempted) land(end.claim, 'lost');
      throw error;
    }
    limit = done.isPaused ? reducedToOne(limitOf(done.ended)) : limitOf(done.ended);
    attempted.forEach(({ end }, index) => void land(end.claim, done.ended[index] ?? 'lost'));
    return done.claims.map(begin);

    function slotsAfter(ended: readonly Ended[]): Slots {
      if (!mayClaim) return { limit: 0, uploads: 0 };
      const after = limitOf(ended);
      const over = new Set(attempted.map(({ end }) => end.claim.requestId));
      const stillIn = [...flights.values()].filter(({ claim }) => !over.has(claim.requestId));
      const startsOf = (lane: Lane) =>
        stillIn.filter(({ claim }) => laneOf(claim) === lane).map(({ startedAt }) => startedAt);
      return {
        limit: freeSlots(after, startsOf('changes'), at),
        uploads: freeSlots(after, startsOf('uploads'), at),
      };
    }

    function limitOf(ended: readonly Ended[]): Limit {
      return ended.reduce((before, how) => moved(before, how, at), limit);
    }
  }

  function moved(before: Limit, how: Ended, at: number): Limit {
    if (how === 'pause') return reducedToOne(before);
    if (how === 'retry') return limitAfter(before, 'trouble', { most, at, random });
    const isAnswer = how === 'delivered' || how === 'rejected' || how === 'hold';
    return isAnswer ? limitAfter(before, 'ok', { most, at, random }) : before;
  }

  function begin(claim: Claim): Flight {
    const ended = Promise.withResolvers<Ended>();
    const attempted = attempt(claim)
      .catch((error: unknown) => {
        if (isFatal(error)) fatal ??= error;
        const fields = { request_id: claim.requestId, code: codeOf(error) || 'INTERNAL' };
        log.error(fields, 'an attempt failed: the request will be tried again');
        return null;
      })
      .then((result) => {
        if (result === null) land(claim, 'lost');
        else unwritten.push(result);
        notifier.notify();
      });
    const flight = { claim, startedAt: elapsedMs(), attempted, ended };
    flights.set(claim.requestId, flight);
    return flight;
  }

  function land({ requestId }: Claim, how: Ended): void {
    flights.get(requestId)?.ended.resolve(how);
    flights.delete(requestId);
    onEnded(how);
  }

  /** Waits for attempts in flight and records them. */
  async function drain(): Promise<void> {
    const timer = setTimeout(() => abandon.abort(), GRACE_MS);
    await Promise.all([...flights.values()].map(({ attempted }) => attempted));
    clearTimeout(timer);
    if (fatal === null) await runBatch(false);
  }

  return {
    async runOnce() {
      const counts: Counts = { ...NO_COUNTS };
      const begun = await runBatch(true);
      await Promise.all(begun.map(({ attempted }) => attempted));
      await runBatch(false);
      for (const ended of await Promise.all(begun.map((flight) => flight.ended.promise))) counts[ended] += 1;
      if (fatal !== null) throw fatal;
      return counts;
    },
    async run(signal) {
      while (!signal.aborted && fatal === null) {
        try {
          await runBatch(true);
        } catch (error) {
          if (isFatal(error)) fatal ??= error;
          log.error({ code: codeOf(error) || 'INTERNAL' }, 'requests could not be claimed: trying again');
        }
        await notifier.wait(POLL_MS, signal);
        // Responses that arrive together are recorded together.
        await immediately();
      }
      await drain();
      if (fatal !== null) throw fatal;
    },
    wake: notifier.notify,
  };
}

function laneOf({ kind }: Claim): Lane {
  return kind === 'census' ? 'uploads' : 'changes';
}

const NO_COUNTS: Counts = {
  delivered: 0,
  retry: 0,
  pause: 0,
  hold: 0,
  rejected: 0,
  later: 0,
  canceled: 0,
  lost: 0,
};

/** `lost`: the claim was taken over or left to expire. */
export type Ended = Verdict | Disposition['outcome'] | 'lost';

type BatchParts = Finishing & Pick<Sending, 'db' | 'sharedNow' | 'log'>;

type Batch = {
  /** How each attempt ended, in the order given. */
  ended: Ended[];
  claims: Claim[];
  isPaused: boolean;
};

type BatchRequest = {
  /** Attempts to record. */
  attempted: readonly Attempted[];
  /** Returns how many to claim, given how the attempts ended. */
  slots: (ended: readonly Ended[]) => Slots;
  /** The requests that this loop is sending. */
  inFlight: ReadonlySet<string>;
  /** Whether to release expired claims too. */
  takesOver: boolean;
};

/**
 * Creates one batch of the send loop: a transaction that records what was attempted and claims what is next.
 * Sharing the sync to disk saves most of the cost of sending. If it fails, each attempt is recorded alone, so
 * that one bad attempt affects no other. Throws the database's error if there was nothing to record or the
 * database must not be used any more.
 */
function createBatch(parts: BatchParts): (options: BatchRequest) => Promise<Batch> {
  const { db, sharedNow, log } = parts;

  return async (options) => {
    const { attempted } = options;
    if (attempted.length === 0) return together(options);
    try {
      return await together(options);
    } catch (error) {
      if (isFatal(error)) throw error;
      const ended: Ended[] = [];
      for (const one of attempted) ended.push(await alone(one));
      return { ended, claims: [], isPaused: false };
    }
  };

  async function together({ attempted, slots, inFlight, takesOver }: BatchRequest): Promise<Batch> {
    const subjects = attempted.map(({ end }) => subjectName(end.claim));
    const { finished, ...batch } = await transact(db, async (trx) => {
      const free = await tryLockNames(trx, subjects);
      const now = await sharedNow(trx);
      const mine = attempted.filter(({ end }) => free.has(subjectName(end.claim)));
      const finished = await finishAll(trx, mine, now);
      const left = slots(mine.map((one) => finished.get(one)?.how ?? 'lost'));
      if (left.limit <= 0) return { finished, claims: [], isPaused: false };
      const options = { owner: parts.owner, ...left, inFlight, takesOver, senders: parts.senders };
      return { finished, ...(await claim(trx, options, now)) };
    });
    const ended: Ended[] = [];
    for (const one of attempted) {
      const written = finished.get(one);
      // Another transaction holds its subject.
      ended.push(written === undefined ? await alone(one) : report(one, written));
    }
    return { ended, ...batch };
  }

  /** Waits for the subject's lock. Throws only fatal errors. */
  async function alone(one: Attempted): Promise<Ended> {
    const { claim: claimed } = one.end;
    try {
      const finished = await transact(db, async (trx) => {
        await lockSubject(trx, claimed);
        return finishAll(trx, [one], await sharedNow(trx));
      });
      return report(one, finished.get(one) ?? null);
    } catch (error) {
      if (isFatal(error)) throw error;
      const fields = { request_id: claimed.requestId, code: codeOf(error) || 'INTERNAL' };
      log.error(fields, 'the result of an attempt could not be saved: the request will be sent again');
      return 'lost';
    }
  }

  async function finishAll(trx: Trx, attempted: readonly Attempted[], now: Date) {
    if (attempted.length === 0) return new Map();
    const ends = attempted.map(({ end }) => end);
    const finished = await finish(trx, parts, ends, now);
    return new Map(attempted.map((one, index) => [one, finished[index] ?? null]));
  }

  function report({ end, ms }: Attempted, finished: Finished | null): Ended {
    const { requestId: request_id, kind, subject_id } = end.claim;
    const fields = { request_id, kind, ...('outcome' in end && { ms: Math.round(ms) }) };
    if (finished === null) {
      log.warn(fields, 'another worker took over the request: the outcome of this attempt was discarded');
      return 'lost';
    }
    const { how: state, reason, breaker } = finished;
    if ('decide' in end) {
      const whose = kind === 'census' ? { employer_id: subject_id } : {};
      log.warn({ ...fields, ...whose, state, reason }, 'a request was not sent');
      return state;
    }
    log[state === 'delivered' ? 'info' : 'warn']({ ...fields, state, reason }, 'a request was attempted');
    if (breaker !== null) log.warn({ state: breaker, reason }, `the circuit breaker is ${breaker}`);
    return state;
  }
}
