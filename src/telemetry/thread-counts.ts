/** The counts of a thread: timer delays, memory, and events applied. */
import { createTally, note, SECONDS, type Tally } from './tally.ts';

/**
 * How often the delay is measured. Four checks a second cost next to nothing, and none of the delay is
 * missed: a longer turn makes the next check late.
 */
const LOOK_EVERY_MS = 250;

/** The number of events by result. */
export type AppliedCounts = { applied: number; ignored: number; quarantined: number };

/** The counts of one thread, as sent to another. */
export type ThreadCounts = {
  applied: AppliedCounts;
  /** Seconds by which a timer fired too late. */
  loopDelay: Tally;
  /** Bytes of the JavaScript heap that are in use. */
  heapUsed: number;
};

export type ThreadWatch = { applied(counts: AppliedCounts): void; read(): ThreadCounts; stop(): void };

/** Counts on the calling thread until it is stopped. */
export function watchThread(): ThreadWatch {
  const applied: AppliedCounts = { applied: 0, ignored: 0, quarantined: 0 };
  const loopDelay = createTally(SECONDS);
  let before = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    note(loopDelay, Math.max(0, now - before - LOOK_EVERY_MS) / 1_000);
    before = now;
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    applied(counts) {
      applied.applied += counts.applied;
      applied.ignored += counts.ignored;
      applied.quarantined += counts.quarantined;
    },
    read: () => ({ applied, loopDelay, heapUsed: process.memoryUsage().heapUsed }),
    stop: () => clearInterval(timer),
  };
}
