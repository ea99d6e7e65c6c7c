/**
 * The last hour by the minute: how many webhooks were acknowledged, and how long that took. Pure: each call
 * passes the time. Every delivery is counted here, so it only updates arrays that were allocated once.
 */

/** An hour is what an operator on call looks back at. A metrics system keeps more. */
export const MINUTES = 60;
const MINUTE_MS = 60_000;
/**
 * Times are counted in steps that grow by a tenth, from a tenth of a millisecond to a minute: a percentile is
 * exact within 10 %, and an hour takes 36 KiB.
 */
const FIRST_STEP_MS = 0.1;
const STEPS = 140;
const BY_STEP = Math.log(1.1);

export type Minute = {
  /** The start of the minute. */
  at: string;
  acknowledged: number;
  /** Milliseconds from the headers of a delivery to its response; null without a delivery. */
  p50_ms: number | null;
  p99_ms: number | null;
  slowest_ms: number | null;
};

export type Minutes = {
  /** Counts an acknowledgment at this instant (milliseconds since 1970) that took so many milliseconds. */
  note(at: number, tookMs: number): void;
  /** Returns the 60 minutes up to and including this instant, oldest first. */
  read(at: number): Minute[];
};

export function createMinutes(): Minutes {
  const steps = new Uint32Array(MINUTES * STEPS);
  /** The minute since 1970 that a place holds. The place is cleared when another minute takes it. */
  const held = new Float64Array(MINUTES).fill(-1);
  const acknowledged = new Uint32Array(MINUTES);
  const slowest = new Float64Array(MINUTES);

  return {
    note(at, tookMs) {
      const minute = Math.floor(at / MINUTE_MS);
      const place = minute % MINUTES;
      if (held[place] !== minute) {
        held[place] = minute;
        acknowledged[place] = 0;
        slowest[place] = 0;
        steps.fill(0, place * STEPS, (place + 1) * STEPS);
      }
      acknowledged[place] = (acknowledged[place] as number) + 1;
      if (tookMs > (slowest[place] as number)) slowest[place] = tookMs;
      const step = place * STEPS + stepOf(tookMs);
      steps[step] = (steps[step] as number) + 1;
    },
    read(at) {
      const newest = Math.floor(at / MINUTE_MS);
      return Array.from({ length: MINUTES }, (_, index) => {
        const minute = newest - MINUTES + 1 + index;
        const place = minute % MINUTES;
        const count = held[place] === minute ? (acknowledged[place] as number) : 0;
        const most = slowest[place] as number;
        const share = (part: number): number | null => {
          if (count === 0) return null;
          const within = steps.subarray(place * STEPS, (place + 1) * STEPS);
          return rounded(Math.min(most, endOf(stepAt(within, Math.ceil(count * part)))));
        };
        return {
          at: new Date(minute * MINUTE_MS).toISOString(),
          acknowledged: count,
          p50_ms: share(0.5),
          p99_ms: share(0.99),
          slowest_ms: count === 0 ? null : rounded(most),
        };
      });
    },
  };
}

function stepOf(tookMs: number): number {
  if (tookMs <= FIRST_STEP_MS) return 0;
  return Math.min(STEPS - 1, Math.ceil(Math.log(tookMs / FIRST_STEP_MS) / BY_STEP));
}

/** Returns the longest time of a step. */
function endOf(step: number): number {
  return FIRST_STEP_MS * Math.exp(step * BY_STEP);
}

/** Returns the step of the nth shortest time; the first is 1. */
function stepAt(steps: Uint32Array, nth: number): number {
  let passed = 0;
  for (const [step, count] of steps.entries()) {
    passed += count;
    if (passed >= nth) return step;
  }
  return STEPS - 1;
}

/** Rounds to a hundredth of a millisecond, which is finer than the measurement. */
function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
