import { randomUUID } from 'node:crypto';
import { setImmediate as immediately } from 'node:timers/promises';
import { tryLockNames } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import { createLoopNotifier } from '../database/notifier.ts';
import type { Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codeOf } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { rateLimitedLines } from '../telemetry/rate-limited-log.ts';
import { createAttempt, type Sending } from './attempt.ts';
import { claim, type Slots } from './claims.ts';
import { freeSlots, fullLimit, type Limit, limitAfter, reducedToOne } from './concurrency-limiter.ts';
import { type End, type Finished, type Finishing, finish } from './finish.ts';
import { lockSubject, subjectName } from './queue.ts';
import type { Claim, Ended } from './sender.ts';

/** Per lane: drains a morning's changes in seconds. The service's own limits are unknown, so not more. */
const CONCURRENCY = 8;
/** Due times pass, and other processes enqueue without waking this loop. */
const POLL_MS = 1_000;
/** How long attempts in flight may continue after a stop. The API thread has 8 s in total. */
const GRACE_MS = 6_000;

export type SendLoopParts = Omit<Sending & Finishing, 'owner'> & {
  /** A monotonic clock in milliseconds, for pauses. */
  elapsedMs: () => number;
  /** Called for each claim that ended. */
  onEnded: (how: Ended) => void;
  concurrency?: number;
};

export type Counts = Record<Ended, number>;

const NO_COUNTS = { delivered: 0, retry: 0, hold: 0, rejected: 0, later: 0, canceled: 0, lost: 0 };

export type SendLoop = {
  /** Claims the requests that are due, up to the limits, and waits until all of them ended. */
  runOnce(): Promise<Counts>;
  /**
   * Sends until the signal aborts, then waits a bounded time for attempts in flight; remaining claims expire and are
   * taken over. Rejects when the database must not be used any more.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Looks for due requests now, because one was enqueued. */
  wake(): void;
};

/** A claim until its outcome is recorded. `startedAt` is a time of the monotonic clock. */
type Flight = {
  claim: Claim;
  startedAt: number;
  attempted: Promise<void>;
  ended: PromiseWithResolvers<Ended>;
};

export function createSendLoop(parts: SendLoopParts): SendLoop {
  const { db, client, log, senders, sharedNow, elapsedMs, random, concurrency: most = CONCURRENCY } = parts;
  const owner = randomUUID();
  const abandon = new AbortController();
  const attempt = createAttempt({ ...parts, owner, abandoned: abandon.signal });
  const finishing = { ...parts, owner, notSent: createNotSent(log) };
  const notifier = createLoopNotifier();
  const flights = createFlights(parts, attempt, notifier.notify);
  let limit = fullLimit(most);
  let tookOverAt = Number.NEGATIVE_INFINITY;

  /** Returns the limit after claims ended. */
  const limitOf = (ended: readonly Ended[], at: number): Limit =>
    ended.reduce((before, how) => limitAfter(before, how, { most, at, random }), limit);

  /**
   * Records ended attempts, then claims and starts the next ones, in one transaction: sharing the sync to disk saves most
   * of the cost of sending. Throws the database's error if there was nothing to record or it must not be used any more.
   */
  async function runBatch(mayClaim: boolean): Promise<Flight[]> {
    const ends = flights.takeEnds();
    const at = elapsedMs();
    const tracked = flights.all();
    const inFlight = new Set(tracked.map((flight) => flight.claim.requestId));
    const ongoing = tracked.filter((flight) => ends.every((end) => end.claim !== flight.claim));
    if (ends.length === 0 && !(mayClaim && slotsLeft(ongoing, limit, at).limit > 0)) return [];
    const takesOver = at - tookOverAt >= POLL_MS;
    try {
      const batch = await transact(db, async (trx) => {
        const now = await sharedNow(trx);
        const finished = await finishFree(trx, finishing, ends, now);
        const slots = slotsLeft(ongoing, limitOf([...finished.values()].map(howOf), at), at);
        if (!mayClaim || slots.limit <= 0) return { finished, claims: [], isPaused: false };
        const claimed = await claim(
          trx,
          { owner, ...slots, inFlight, takesOver, senders, hasKey: client.hasKey },
          now,
        );
        return { finished, ...claimed };
      }).catch((error: unknown) => {
        if (ends.length === 0 || isFatal(error)) throw error;
        // Each attempt is recorded alone, so that one bad attempt affects no other.
        return { finished: new Map<End, Finished>(), claims: [], isPaused: false };
      });
      if (takesOver) tookOverAt = at;
      const ended: Ended[] = [];
      for (const end of ends) {
        const finished = batch.finished.get(end);
        ended.push(finished ? report(finishing, end, finished) : await finishAlone(finishing, end));
      }
      limit = batch.isPaused ? reducedToOne(limitOf(ended, at)) : limitOf(ended, at);
      for (const [index, end] of ends.entries()) flights.settle(end.claim, ended[index] ?? 'lost');
      return batch.claims.map(flights.begin);
    } catch (error) {
      for (const end of ends) flights.settle(end.claim, 'lost');
      throw error;
    }
  }

  return {
    async runOnce() {
      const counts: Counts = { ...NO_COUNTS };
      const begun = await runBatch(true);
      await Promise.all(begun.map(({ attempted }) => attempted));
      await runBatch(false);
      for (const ended of await Promise.all(begun.map((flight) => flight.ended.promise))) counts[ended] += 1;
      flights.throwFatal();
      return counts;
    },
    async run(signal) {
      while (!signal.aborted && !flights.isFatal()) {
        try {
          await runBatch(true);
        } catch (error) {
          flights.fail(error);
          log.error({ code: codeOf(error) || 'INTERNAL' }, 'requests could not be claimed: trying again');
        }
        await notifier.wait(POLL_MS, signal);
        // Responses that arrive together are recorded together.
        await immediately();
      }
      const timer = setTimeout(() => abandon.abort(), GRACE_MS);
      await Promise.all(flights.all().map(({ attempted }) => attempted));
      clearTimeout(timer);
      if (!flights.isFatal()) await runBatch(false);
      flights.throwFatal();
    },
    wake: notifier.notify,
  };
}

/** Tracks the claims whose outcomes are not recorded yet. Calls `notify` when an attempt ends. */
function createFlights(
  { log, elapsedMs, onEnded }: SendLoopParts,
  attempt: ReturnType<typeof createAttempt>,
  notify: () => void,
) {
  const flights = new Map<string, Flight>();
  /** Attempts that ended and are not recorded yet. */
  let unwritten: End[] = [];
  let fatal: unknown = null;

  /** Keeps an error after which the database must not be used any more. */
  function fail(error: unknown): void {
    if (isFatal(error)) fatal ??= error;
  }

  function begin(claim: Claim): Flight {
    const attempted = attempt(claim)
      .catch((error: unknown) => {
        fail(error);
        const fields = { request_id: claim.requestId, code: codeOf(error) || 'INTERNAL' };
        log.error(fields, 'an attempt failed: the request will be tried again');
        return null;
      })
      .then((end) => {
        if (end === null) settle(claim, 'lost');
        else unwritten.push(end);
        notify();
      });
    const flight = { claim, startedAt: elapsedMs(), attempted, ended: Promise.withResolvers<Ended>() };
    flights.set(claim.requestId, flight);
    return flight;
  }

  function settle({ requestId }: Claim, how: Ended): void {
    flights.get(requestId)?.ended.resolve(how);
    flights.delete(requestId);
    onEnded(how);
  }

  return {
    begin,
    settle,
    fail,
    all: () => [...flights.values()],
    takeEnds(): End[] {
      const ends = unwritten;
      unwritten = [];
      return ends;
    },
    isFatal: () => fatal !== null,
    throwFatal(): void {
      if (fatal !== null) throw fatal;
    },
  };
}

/** Uploads and changes have slots of their own, so that hanging uploads delay no change. */
function slotsLeft(ongoing: readonly Flight[], limit: Limit, at: number): Slots {
  const free = (isUpload: boolean): number => {
    const lane = ongoing.filter((flight) => (flight.claim.kind === 'census') === isUpload);
    const starts = lane.map(({ startedAt }) => startedAt);
    return freeSlots(limit, starts, at);
  };
  return { limit: free(false), uploads: free(true) };
}

function howOf(finished: Finished): Ended {
  return finished.kind === 'lost' ? 'lost' : finished.how;
}

type Recording = SendLoopParts & Finishing & { notSent: ReturnType<typeof createNotSent> };

/** Logs requests that were decided without an attempt. The service can request a census of any number of employers. */
function createNotSent(log: Log) {
  return rateLimitedLines({
    line: (fields) => log.warn(fields, 'a request was not sent'),
    others: (count) => log.warn({ count }, 'other requests were not sent'),
  });
}

/** Records the attempts whose subjects no other transaction holds. Attempts of held subjects are missing from the result. */
async function finishFree(
  trx: Trx,
  by: Recording,
  ends: readonly End[],
  now: Date,
): Promise<Map<End, Finished>> {
  const free = await tryLockNames(
    trx,
    ends.map(({ claim }) => subjectName(claim)),
  );
  const locked = ends.filter(({ claim }) => free.has(subjectName(claim)));
  return finish(trx, by, locked, now);
}

/** Records one attempt, after waiting for its subject's lock. Throws only fatal errors. */
async function finishAlone(by: Recording, end: End): Promise<Ended> {
  const { db, sharedNow, log } = by;
  try {
    const finished = await transact(db, async (trx) => {
      await lockSubject(trx, end.claim);
      return finish(trx, by, [end], await sharedNow(trx));
    });
    return report(by, end, finished.get(end) as Finished);
  } catch (error) {
    if (isFatal(error)) throw error;
    const fields = { request_id: end.claim.requestId, code: codeOf(error) || 'INTERNAL' };
    log.error(fields, 'the result of an attempt could not be saved: the request will be sent again');
    return 'lost';
  }
}

/** Logs how a claim ended, and returns it. */
function report({ log, notSent }: Recording, end: End, finished: Finished): Ended {
  const { requestId: request_id, kind, subject_id } = end.claim;
  const fields = { request_id, kind, ...(end.kind === 'attempt' && { ms: Math.round(end.ms) }) };
  if (finished.kind === 'lost') {
    log.warn(fields, 'another worker took over the request: the outcome of this attempt was discarded');
    return 'lost';
  }
  const { how: state, reason, breaker } = finished;
  if (end.kind === 'decision') {
    notSent({ kind, state, reason }, { request_id, ...(kind === 'census' && { employer_id: subject_id }) });
    return state;
  }
  log[state === 'delivered' ? 'info' : 'warn']({ ...fields, state, reason }, 'a request was attempted');
  if (breaker !== null) log.warn({ state: breaker, reason }, `the circuit breaker is ${breaker}`);
  return state;
}
