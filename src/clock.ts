import { performance } from 'node:perf_hooks';

/** Time comes in as a parameter, so that tests can set it and one transaction has one `now`. */
export type Clock = () => Date;

/** Milliseconds of two clocks that are never set. `idle` does not advance while this thread works. */
export type Elapsed = { now: () => number; idle: () => number };

export const systemElapsed: Elapsed = {
  now: () => performance.now(),
  idle: () => performance.eventLoopUtilization().idle,
};

export const systemClock: Clock = () => new Date();

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
] as const;

/** Returns a duration in the largest unit with a value of at least two, such as `90 s`. */
export function describeDuration(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, unitMs]) => ms >= 2 * unitMs) ?? ['s', 1_000];
  return `${Math.floor(ms / unitMs)} ${unit}`;
}
