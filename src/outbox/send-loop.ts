import { randomUUID } from 'node:crypto';
import { setImmediate as immediately } from 'node:timers/promises';
import { codeOf, isFatal } from '../database/errors.ts';
import { createBell } from '../database/notifier.ts';
import type { Db, Trx } from '../database/tables.ts';
import type { Sealer } from '../security/encryption.ts';
import type { Log } from '../telemetry/log.ts';
import { type Attempted, createAttempt } from './attempt.ts';
import type { Room } from './claims.ts';
import type { BenefitsClient } from './client.ts';
import { fromBottom, fullRamp, type Lane, type Ramp, rampAfter, roomIn } from './concurrency-limiter.ts';
import { createTurn, type Ended } from './send-batch.ts';
import type { Claim, Senders } from './sender.ts';

/** In each lane: enough to drain a morning's changes in seconds; the service's own limits are unknown, so not more. */
const CONCURRENCY = 8;
/** Other processes and threads enqueue without a word to this loop, and due times pass: look this often. */
const POLL_MS = 1_000;
/** What is in flight may end by itself this long after a stop; the private side has 8 s in all. */
const GRACE_MS = 6_000;

export type SendLoopParts = {
  db: Db;
  client: BenefitsClient;
  sealer: Sealer;
  senders: Senders;
  /** The instant that leases and due times are compared by, inside a transaction. */
  sharedNow: (trx: Trx) => Promise<Date>;
  /** Milliseconds of a clock that never jumps, for pauses. */
  elapsedMs: () => number;
  random: () => number;
  log: Log;
  /** Told how each claim ended. */
  onEnded: (how: Ended) => void;
  concurrency?: number;
};

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

/** What was claimed, until how it ended is written down. */
type Flight = {
  claim: Claim;
  /** In milliseconds of the loop's clock that never jumps. */
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
  const turn = createTurn({ ...parts, owner });
  const flights = new Map<string, Flight>();
  /** Attempts that are over and not written down. */
  let unwritten: Attempted[] = [];
  let ramp = fullRamp(most);
  let tookOverAt = Number.NEGATIVE_INFINITY;
  let fatal: unknown = null;
  const bell = createBell();

  /** Writes down what is over, and claims and begins what may go. */
  async function takeTurn(mayClaim: boolean): Promise<Flight[]> {
    const attempted = unwritten;
    unwritten = [];
    const at = elapsedMs();
    if (attempted.length === 0 && roomAfter([]).limit === 0) return [];
    const inFlight = new Set(flights.keys());
    const takesOver = at - tookOverAt >= POLL_MS;
    let done: Awaited<ReturnType<typeof turn>>;
    try {
      done = await turn({
        attempted,
        room: roomAfter,
        inFlight,
        takesOver,
      });
      if (takesOver) tookOverAt = at;
    } catch (error) {
      for (const { end } of attempted) land(end.claim, 'lost');
      throw error;
    }
    ramp = done.gateClosed ? fromBottom(rampOf(done.ended)) : rampOf(done.ended);
    attempted.forEach(({ end }, index) => void land(end.claim, done.ended[index] ?? 'lost'));
    return done.claims.map(begin);

    function roomAfter(ended: readonly Ended[]): Room {
      if (!mayClaim) return { limit: 0, uploads: 0 };
      const after = rampOf(ended);
      const over = new Set(attempted.map(({ end }) => end.claim.requestId));
      const stillIn = [...flights.values()].filter(({ claim }) => !over.has(claim.requestId));
      const startsOf = (lane: Lane) =>
        stillIn.filter(({ claim }) => laneOf(claim) === lane).map(({ startedAt }) => startedAt);
      return {
        limit: roomIn(after, startsOf('changes'), at),
        uploads: roomIn(after, startsOf('uploads'), at),
      };
    }

    function rampOf(ended: readonly Ended[]): Ramp {
      return ended.reduce((before, how) => moved(before, how, at), ramp);
    }
  }

  function moved(before: Ramp, how: Ended, at: number): Ramp {
    if (how === 'close-gate') return fromBottom(before);
    if (how === 'retry') return rampAfter(before, 'trouble', { most, at, random });
    const isAnswer = how === 'delivered' || how === 'rejected' || how === 'hold';
    return isAnswer ? rampAfter(before, 'well', { most, at, random }) : before;
  }

  function begin(claim: Claim): Flight {
    const ended = Promise.withResolvers<Ended>();
    const attempted = attempt(claim)
      .catch((error: unknown) => {
        if (isFatal(error)) fatal ??= error;
        log.error(
          { request_id: claim.requestId, code: codeOf(error) || 'INTERNAL' },
          'attempt not written down',
        );
        return null;
      })
      .then((result) => {
        if (result === null) land(claim, 'lost');
        else unwritten.push(result);
        bell.ring();
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

  /** What is in flight is let end, and written down. */
  async function drain(): Promise<void> {
    const timer = setTimeout(() => abandon.abort(), GRACE_MS);
    await Promise.all([...flights.values()].map(({ attempted }) => attempted));
    clearTimeout(timer);
    if (fatal === null) await takeTurn(false);
  }

  return {
    async runOnce() {
      const counts: Counts = { ...NO_COUNTS };
      const begun = await takeTurn(true);
      await Promise.all(begun.map(({ attempted }) => attempted));
      await takeTurn(false);
      for (const ended of await Promise.all(begun.map((flight) => flight.ended.promise))) counts[ended] += 1;
      if (fatal !== null) throw fatal;
      return counts;
    },
    async run(signal) {
      while (!signal.aborted && fatal === null) {
        try {
          await takeTurn(true);
        } catch (error) {
          if (isFatal(error)) fatal ??= error;
          log.error({ code: codeOf(error) || 'INTERNAL' }, 'requests not claimed');
        }
        await bell.wait(POLL_MS, signal);
        // Answers that come together are written down together.
        await immediately();
      }
      await drain();
      if (fatal !== null) throw fatal;
    },
    wake: bell.ring,
  };
}

function laneOf({ kind }: Claim): Lane {
  return kind === 'census' ? 'uploads' : 'changes';
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
