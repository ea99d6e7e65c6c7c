import { performance } from 'node:perf_hooks';

/** Time comes in as a parameter, so that tests can set it and one transaction has one `now`. */
export type Clock = () => Date;

/** Milliseconds of two clocks that are never set. `idle` stands still while this thread works. */
export type Elapsed = { now: () => number; idle: () => number };

export const systemElapsed: Elapsed = {
  now: () => performance.now(),
  idle: () => performance.eventLoopUtilization().idle,
};

export const systemClock: Clock = () => new Date();
