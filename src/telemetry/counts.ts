/** The counts of each thread since the start, as plain numbers that can be sent between threads. */
import type { Clock } from '../clock.ts';
import { droppedLines } from './log.ts';
import { createTally, note, SECONDS, type Tally } from './metric.ts';
import { createMinutes } from './minutes.ts';

/** Events in one commit: 256 at most. */
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;
/** Seconds of a request: most take milliseconds, a census or a large run a minute. */
const REQUEST_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10, 60] as const;

export type ReceivedCounts = ReturnType<ReceivingCounts['read']>;
type Storing = ReturnType<ReturnType<typeof createStoringCounts>['read']>;
export type ThreadCounts = ReturnType<ReturnType<typeof watchThread>['read']>;

/** All counts that the other threads report to the API thread; `threads` by their names. */
export type Receiving = ReceivedCounts & Storing & { threads: Readonly<Record<string, ThreadCounts>> };

export type ReceivingCounts = ReturnType<typeof createReceivingCounts>;

/** `causes`: every cause of a refusal, so that each is exported from the start. */
export function createReceivingCounts(now: Clock, causes: readonly string[]) {
  const minutes = createMinutes();
  const counts = {
    /** The start of the process. */
    since: now().toISOString(),
    acknowledged: createTally(SECONDS),
    /** By cause. */
    refused: zeros(causes),
    /** Verified but not stored; the response was 503. */
    unstored: 0,
  };
  return {
    /** Counts a stored delivery. `tookMs` is the time from its headers to its response. */
    acknowledged(tookMs: number): void {
      minutes.note(now().getTime(), tookMs);
      note(counts.acknowledged, tookMs / 1_000);
    },
    refused(cause: string): void {
      counts.refused[cause] = (counts.refused[cause] ?? 0) + 1;
    },
    unstored(): void {
      counts.unstored += 1;
    },
    read: () => ({ ...counts, minutes: minutes.read(now().getTime()) }),
  };
}

export function createStoringCounts() {
  const counts = {
    duplicates: 0,
    conflicts: 0,
    commits: createTally(SECONDS),
    batches: createTally(BATCHES),
  };
  return {
    /** Counts a committed batch. `tookMs` is the time that the commit took. */
    committed(stored: { accepted: number; duplicates: number; conflicts: number }, tookMs: number): void {
      counts.duplicates += stored.duplicates;
      counts.conflicts += stored.conflicts;
      note(counts.commits, tookMs / 1_000);
      note(counts.batches, stored.accepted + stored.duplicates);
    },
    read: () => ({ ...counts, droppedLines: droppedLines() }),
  };
}

/** How often the delay is measured. No delay is missed: a longer turn of the event loop makes the next check late. */
const LOOK_EVERY_MS = 250;

export function watchThread() {
  const applied = { applied: 0, ignored: 0, quarantined: 0 };
  const loopDelay = createTally(SECONDS);
  let before = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    note(loopDelay, Math.max(0, now - before - LOOK_EVERY_MS) / 1_000);
    before = now;
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    applied(counts: typeof applied): void {
      applied.applied += counts.applied;
      applied.ignored += counts.ignored;
      applied.quarantined += counts.quarantined;
    },
    /** `loopDelay`: seconds by which a timer fired too late. `heapUsed`: bytes of the JavaScript heap. */
    read: () => ({ applied, loopDelay, heapUsed: process.memoryUsage().heapUsed }),
    stop: () => clearInterval(timer),
  };
}

/** How an attempt to send may end, as the send loop calls it. */
const ATTEMPT_OUTCOMES = ['delivered', 'retry', 'hold', 'rejected', 'later', 'canceled', 'lost'] as const;
/** How an attempt to send a notification may end; `dropped`: it failed because too many waited. */
const NOTIFICATION_ENDS = ['delivered', 'retried', 'failed', 'dropped'] as const;
/** The operations on payroll runs that take time, because they compute or compare lines. */
const RUN_WORKS = ['put', 'preview', 'show', 'lines', 'finalize', 'verify', 'audit'] as const;
export type RunWork = (typeof RUN_WORKS)[number];

/** The counts of the API thread. */
export type PrivateCounts = ReturnType<typeof createPrivateCounts>;

export function createPrivateCounts() {
  const runs = Object.fromEntries(RUN_WORKS.map((work) => [work, createTally(REQUEST_SECONDS)]));
  return {
    attempts: zeros(ATTEMPT_OUTCOMES),
    notifications: zeros(NOTIFICATION_ENDS),
    runs: runs as Record<RunWork, Tally>,
    /** Requests refused for want of a resource. */
    shed: zeros(['event-loop', 'heap']),
    /** Seconds by method and route as it is declared: `GET /v1/deductions/:deduction_id`. */
    requests: new Map<string, Tally>(),
    /** Responses by the first digit of their status: `2xx`. */
    responses: new Map<string, number>(),
  };
}

/** Counts the response to a request of a route. */
export function noteRequest(
  { requests, responses }: PrivateCounts,
  route: string,
  status: number,
  seconds: number,
): void {
  const tally = requests.get(route) ?? createTally(REQUEST_SECONDS);
  requests.set(route, tally);
  note(tally, seconds);
  const kind = `${Math.floor(status / 100)}xx`;
  responses.set(kind, (responses.get(kind) ?? 0) + 1);
}

function zeros<const Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
