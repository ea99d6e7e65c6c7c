/**
 * The last hour by the minute: how many webhooks were acknowledged, and how long that took. Each call passes the time.
 * Every delivery is counted, so counting allocates nothing.
 */
import { createHistogram } from 'node:perf_hooks';

/** An hour is what an operator on call looks back at. A metrics system keeps more. */
export const MINUTES = 60;
const MINUTE_MS = 60_000;
/** Microseconds up to a minute, exact within a tenth: an hour takes less than 200 KiB. */
const MICROSECONDS = { lowest: 1, highest: 60_000_000, figures: 1 };

/** A minute without a delivery. */
const NOTHING = { acknowledged: 0, p50_ms: null, p99_ms: null, slowest_ms: null };

export function createMinutes() {
  /** `minute` counts from 1970. A place is cleared when another minute takes it. */
  const places = Array.from({ length: MINUTES }, () => ({
    minute: -1,
    slowestMs: 0,
    times: createHistogram(MICROSECONDS),
  }));
  const placeOf = (minute: number) => places[minute % MINUTES] as (typeof places)[number];

  return {
    /** Counts an acknowledgment at this instant (milliseconds since 1970) that took so many milliseconds. */
    note(at: number, tookMs: number): void {
      const minute = Math.floor(at / MINUTE_MS);
      const place = placeOf(minute);
      if (place.minute !== minute) {
        place.minute = minute;
        place.slowestMs = 0;
        place.times.reset();
      }
      place.slowestMs = Math.max(place.slowestMs, tookMs);
      const { lowest, highest } = MICROSECONDS;
      place.times.record(Math.min(highest, Math.max(lowest, Math.round(tookMs * 1_000))));
    },
    /**
     * Returns the 60 minutes up to and including this instant, oldest first. Times are in milliseconds from the headers of a
     * delivery to its response; null without a delivery.
     */
    read(at: number) {
      const newest = Math.floor(at / MINUTE_MS);
      return Array.from({ length: MINUTES }, (_, index) => {
        const minute = newest - MINUTES + 1 + index;
        const start = new Date(minute * MINUTE_MS).toISOString();
        const place = placeOf(minute);
        if (place.minute !== minute) return { at: start, ...NOTHING };
        const { times, slowestMs } = place;
        const percentile = (percent: number) =>
          rounded(Math.min(slowestMs, times.percentile(percent) / 1_000));
        const slowest_ms = rounded(slowestMs);
        return {
          at: start,
          acknowledged: times.count,
          p50_ms: percentile(50),
          p99_ms: percentile(99),
          slowest_ms,
        };
      });
    },
  };
}

/** Rounds to a hundredth of a millisecond, which is finer than the measurement. */
function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
