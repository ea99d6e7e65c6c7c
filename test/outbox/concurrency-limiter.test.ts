import t from 'tap';
import {
  COUNTED_MS,
  FAILED_MAX,
  freeSlots,
  fullLimit,
  IN_FLIGHT_MAX,
  type Limit,
  limitAfter,
  PAUSE_MAX_MS,
  PAUSE_MIN_MS,
  reducedToOne,
} from '../../src/outbox/concurrency-limiter.ts';
import type { Ended } from '../../src/outbox/sender.ts';
import fc from '../support/seeded.ts';

const MOST = 8;
const after = (limit: Limit, how: Ended, at = 0, random = 0.999): Limit =>
  limitAfter(limit, how, { most: MOST, at, random: () => random });

t.test('each failed attempt halves the limit, down to one', async (t) => {
  let limit = fullLimit(MOST);
  const allowed: number[] = [];
  for (let failure = 1; failure < FAILED_MAX; failure += 1) {
    limit = after(limit, 'retry');
    allowed.push(limit.allowed);
    t.equal(limit.pausedUntil, null, 'a single failure does not pause');
  }
  t.strictSame(allowed, [4, 2, 1, 1, 1, 1, 1]);
});

t.test('after many consecutive failures requests go one at a time, with pauses', async (t) => {
  let limit = fullLimit(MOST);
  let at = 0;
  for (let failure = 0; failure < FAILED_MAX; failure += 1) limit = after(limit, 'retry', at);
  const pauses: number[] = [];
  for (let probe = 0; probe < 8; probe += 1) {
    const pause = (limit.pausedUntil as number) - at;
    pauses.push(Math.ceil(pause / 1_000));
    t.equal(freeSlots(limit, [], at + pause - 1), 0);
    at += pause;
    t.equal(freeSlots(limit, [], at), 1);
    limit = after(limit, 'retry', at);
  }
  t.strictSame(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
});

t.test('half of a pause is random, so that several senders do not send together', async (t) => {
  const failed = { allowed: 1, failed: 1_000, pausedUntil: null };
  t.strictSame(
    [0, 0.5].map((random) => after(failed, 'retry', 0, random).pausedUntil),
    [PAUSE_MAX_MS / 2, PAUSE_MAX_MS * 0.75],
  );
});

t.test('the limit stays between one and the maximum, and no pause exceeds 60 s', async () => {
  const signs = fc.array(fc.constantFrom<Ended>('delivered', 'retry'), { maxLength: 100 });
  fc.assert(
    fc.property(signs, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (all, random) => {
      let limit = fullLimit(MOST);
      for (const sign of all) {
        limit = after(limit, sign, 0, random);
        const pause = limit.pausedUntil ?? PAUSE_MIN_MS;
        if (limit.allowed < 1 || limit.allowed > MOST || pause < PAUSE_MIN_MS / 2 || pause > PAUSE_MAX_MS) {
          throw new Error(JSON.stringify(limit));
        }
      }
    }),
  );
});

t.test('an attempt counts against the limit for 30 s', async (t) => {
  const oneAllowed = reducedToOne(fullLimit(MOST));
  t.equal(freeSlots(oneAllowed, [0], COUNTED_MS - 1), 0);
  t.equal(freeSlots(oneAllowed, [0], COUNTED_MS), 1);
  t.equal(freeSlots(oneAllowed, [0, COUNTED_MS], COUNTED_MS), 0);
  t.equal(freeSlots(fullLimit(MOST), [0, 0, COUNTED_MS], COUNTED_MS), MOST - 1);
});

t.test('slow attempts count against the limit in flight', async (t) => {
  const slow = (count: number) => Array.from({ length: count }, () => 0);
  t.equal(freeSlots(fullLimit(MOST), slow(IN_FLIGHT_MAX - 3), COUNTED_MS), 3);
  t.equal(freeSlots(fullLimit(MOST), slow(IN_FLIGHT_MAX), COUNTED_MS), 0);
});
