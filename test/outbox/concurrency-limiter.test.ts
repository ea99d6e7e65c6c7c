import fc from 'fast-check';
import t from 'tap';
import {
  COUNTED_MS,
  FAILED_MAX,
  fromBottom,
  fullRamp,
  IN_FLIGHT_MAX,
  PAUSE_MAX_MS,
  PAUSE_MIN_MS,
  type Ramp,
  rampAfter,
  roomIn,
  type Sign,
} from '../../src/outbox/concurrency-limiter.ts';

const MOST = 8;
const after = (ramp: Ramp, sign: Sign, at = 0, random = 0.999): Ramp =>
  rampAfter(ramp, sign, { most: MOST, at, random: () => random });

t.test('each answer allows one more, so that the number doubles with each round', async (t) => {
  let ramp = fromBottom(fullRamp(MOST));
  const rounds: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    rounds.push(ramp.allowed);
    for (let answer = ramp.allowed; answer > 0; answer -= 1) ramp = after(ramp, 'well');
  }
  t.strictSame(rounds, [1, 2, 4, 8, 8]);
});

t.test('each attempt that finds the service in trouble halves what is allowed, down to one', async (t) => {
  let ramp = fullRamp(MOST);
  const allowed: number[] = [];
  for (let failure = 1; failure < FAILED_MAX; failure += 1) {
    ramp = after(ramp, 'trouble');
    allowed.push(ramp.allowed);
    t.equal(ramp.pausedUntil, null, 'a hiccup is no pause');
  }
  t.strictSame(allowed, [4, 2, 1, 1, 1, 1, 1]);
});

t.test('after as many failures in a row as go at once, one asks after pauses from 1 s to 60 s', async (t) => {
  let ramp = fullRamp(MOST);
  let at = 0;
  for (let failure = 0; failure < FAILED_MAX; failure += 1) ramp = after(ramp, 'trouble', at);
  const pauses: number[] = [];
  for (let probe = 0; probe < 8; probe += 1) {
    const pause = (ramp.pausedUntil as number) - at;
    pauses.push(Math.ceil(pause / 1_000));
    t.equal(roomIn(ramp, [], at + pause - 1), 0);
    at += pause;
    t.equal(roomIn(ramp, [], at), 1);
    ramp = after(ramp, 'trouble', at);
  }
  t.strictSame(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
});

t.test('half of a pause is by chance, so that several senders do not ask together', async (t) => {
  const failed = { allowed: 1, failed: 1_000, pausedUntil: null };
  t.strictSame(
    [0, 0.5].map((random) => after(failed, 'trouble', 0, random).pausedUntil),
    [PAUSE_MAX_MS / 2, PAUSE_MAX_MS * 0.75],
  );
});

t.test('one answer ends the pauses, also a refusal', async (t) => {
  const ramp = after({ allowed: 1, failed: 50, pausedUntil: 10_000 }, 'well');
  t.strictSame(ramp, { allowed: 2, failed: 0, pausedUntil: null });
});

t.test(
  'whatever happens, one at least is allowed, never more than the most, and no pause is longer',
  async () => {
    const signs = fc.array(fc.constantFrom<Sign>('well', 'trouble'), { maxLength: 100 });
    fc.assert(
      fc.property(signs, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (all, random) => {
        let ramp = fullRamp(MOST);
        for (const sign of all) {
          ramp = after(ramp, sign, 0, random);
          const pause = ramp.pausedUntil ?? PAUSE_MIN_MS;
          if (ramp.allowed < 1 || ramp.allowed > MOST || pause < PAUSE_MIN_MS / 2 || pause > PAUSE_MAX_MS) {
            throw new Error(JSON.stringify(ramp));
          }
        }
      }),
    );
  },
);

t.test('an attempt counts against the limit for 30 s', async (t) => {
  const oneAllowed = fromBottom(fullRamp(MOST));
  t.equal(roomIn(oneAllowed, [0], COUNTED_MS - 1), 0);
  t.equal(roomIn(oneAllowed, [0], COUNTED_MS), 1);
  t.equal(roomIn(oneAllowed, [0, COUNTED_MS], COUNTED_MS), 0);
  t.equal(roomIn(fullRamp(MOST), [0, 0, COUNTED_MS], COUNTED_MS), MOST - 1);
});

t.test('slow attempts count against the cap of those in flight', async (t) => {
  const slow = (count: number) => Array.from({ length: count }, () => 0);
  t.equal(roomIn(fullRamp(MOST), slow(IN_FLIGHT_MAX - 3), COUNTED_MS), 3);
  t.equal(roomIn(fullRamp(MOST), slow(IN_FLIGHT_MAX), COUNTED_MS), 0);
});
