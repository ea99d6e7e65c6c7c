/** The counts of a thread: timer delays, memory, and events applied. */
import { createTally, note, SECONDS, type Tally } from './tally.ts';

/**
 * How often the delay is measured: four looks a second cost next to nothing, and no time is lost between
 * them: a turn that takes longer makes the next look late.
 */
const LOOK_EVERY_MS = 250;

/** The number of events by result. */
export type AppliedCounts = { applied: number; ignored: number; quarantined: number };

/** As it crosses from one thread to another. */
export type ThreadCounts = {
  applied: AppliedCounts;
  /** Seconds by which a timer fired too late. */
  loopDelay: Tally;
  /** Bytes of JavaScript's memory that are in use. */
  heapUsed: number;
};

export type ThreadWatch = {
  applied(counts: AppliedCounts): void;
  read(): ThreadCounts;
  stop(): void;
};

/** Watches the thread that calls it, until it is stopped. */
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
