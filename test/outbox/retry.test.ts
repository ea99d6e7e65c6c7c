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
import {
  type AttemptOutcome,
  type Before,
  type BodyKind,
  backoffMs,
  isUnknown,
  judge,
  RETRY_AFTER_MAX_MS,
  RETRY_MAX_MS,
  RETRY_MIN_MS,
  refusalsAfter,
  retryAfterMs,
  type Verdict,
} from '../../src/outbox/retry.ts';
import type { Ended } from '../../src/outbox/sender.ts';
import fc from '../support/seeded.ts';

const responded = (status: number, content: BodyKind = 'empty', retryAfterMs: number | null = null) =>
  ({ responded: true, status, content, retryAfterMs, response: Buffer.alloc(0) }) satisfies AttemptOutcome;
const FIRST: Before = { unknown: false, status: null, refusals: 0 };

/** The responses with each verdict: a status and, unless it is empty, what its body is. */
const VERDICTS: Record<Verdict, string> = {
  delivered: '200, 202, 204, 200 json',
  retry:
    '200 not-json, 201 too-long, 200 json-error, 202 json-failure, 408, 425, 429, 500, 503, 599, ECONNREFUSED, ECONNRESET',
  hold: '300, 301, 308, 401, 401 json-error, 403, 404, 404 json, 404 json-failure, 407',
  rejected: '400, 404 json-error, 409, 413, 421, 422 not-json, 422 json-error, 423',
};
for (const [verdict, responses] of Object.entries(VERDICTS)) {
  t.test(`${responses} means ${verdict}`, async (t) => {
    for (const response of responses.split(', ')) {
      const [status = '', content] = response.split(' ') as [string, BodyKind?];
      const lost = { responded: false, code: status, sent: status === 'ECONNRESET' } as const;
      const outcome = status.startsWith('E') ? lost : responded(Number(status), content);
      t.equal(judge(outcome, FIRST), verdict, response);
    }
  });
}

t.test('409, 421 and 423 are retried after an unknown outcome, or with Retry-After', async (t) => {
  for (const status of [409, 421, 423]) {
    t.equal(judge(responded(status, 'json-error'), { ...FIRST, unknown: true }), 'retry');
    t.equal(judge(responded(status, 'json-error', 0), FIRST), 'retry');
  }
  t.equal(judge(responded(422, 'json-error', 0), { ...FIRST, unknown: true }), 'rejected', 'no other 4xx is');
});

t.test('a success that reports a failure is retried five times in a row, then rejected', async (t) => {
  const failed = responded(200, 'json-failure');
  let before = FIRST;
  const verdicts: Verdict[] = [];
  while (verdicts.at(-1) !== 'rejected') {
    verdicts.push(judge(failed, before));
    before = { unknown: true, status: 202, refusals: refusalsAfter(failed, before) };
  }
  t.strictSame(verdicts, [...Array(5).fill('retry'), 'rejected']);
  for (const status of [401, 403, 503]) {
    t.equal(judge(failed, { unknown: true, status, refusals: 5 }), 'retry', `after a ${status}`);
  }
});

t.test('an attempt without response, or with a 5xx or odd success, may have been applied', async (t) => {
  const lost: AttemptOutcome = { responded: false, code: 'ECONNRESET', sent: true };
  const unknown = [lost, responded(502), responded(200, 'not-json'), responded(200, 'json-error')];
  const known = [{ ...lost, sent: false }, responded(200, 'json'), responded(429), responded(422)];
  for (const outcome of unknown) t.ok(isUnknown(outcome), JSON.stringify(outcome));
  for (const outcome of known) t.notOk(isUnknown(outcome), JSON.stringify(outcome));
});

t.test('the backoff grows from one second to fifteen minutes, with full jitter', async (t) => {
  const waits = [1, 2, 3, 4, 9, 10, 50, 5_000].map((attempt) => backoffMs(attempt, () => 1));
  t.strictSame(waits, [2_000, 4_000, 8_000, 16_000, 512_000, 900_000, 900_000, 900_000]);
  const jitter = [backoffMs(50, () => 0), backoffMs(10, () => 0.5)];
  t.strictSame(jitter, [RETRY_MIN_MS, (RETRY_MIN_MS + RETRY_MAX_MS) / 2]);
});

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

t.test('the backoff is always within its bounds', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e9 }),
      random,
      fc.option(fc.integer({ min: 0, max: 1e12 })),
      (attempt, random, retryAfter) => {
        const ms = backoffMs(attempt, () => random, retryAfter);
        return Number.isInteger(ms) && ms >= RETRY_MIN_MS && ms <= RETRY_AFTER_MAX_MS;
      },
    ),
  );
});

t.test('a Retry-After is honored if it is later than the backoff, up to an hour', async (t) => {
  const longest = backoffMs(1, () => 0, 86_400_000);
  const waits = [backoffMs(1, () => 0, 30_000), backoffMs(10, () => 1, 5_000), longest];
  t.strictSame(waits, [30_000, RETRY_MAX_MS, RETRY_AFTER_MAX_MS]);
});

const now = new Date('2026-01-31T09:30:00.000Z');
t.test(
  'a Retry-After is a number of seconds or a date, and else asks for a retry at no certain time',
  async (t) => {
    const waits = {
      ...{ 120: 120_000, ' 0 ': 0, 'Sat, 31 Jan 2026 09:32:00 GMT': 120_000 },
      ...{ 'Saturday, 31-Jan-26 09:32:00 GMT': 120_000, 'Sat, 31 Jan 2026 09:00:00 GMT': 0 },
      ...{ '-5': 0, '1.5': 0, soon: 0, 99999999999: 99_999_999_999_000, ' ': null },
    };
    for (const [header, waitMs] of Object.entries(waits)) t.equal(retryAfterMs(header, now), waitMs, header);
    t.equal(retryAfterMs(undefined, now), null);
  },
);

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
  for (const how of ['delivered', 'rejected', 'hold'] as const)
    t.match(after(limit, how), { allowed: 2, failed: 0 }, `${how}: the service responds`);
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
  const pauses = [0, 0.5].map((random) => after(failed, 'retry', 0, random).pausedUntil);
  t.strictSame(pauses, [PAUSE_MAX_MS / 2, PAUSE_MAX_MS * 0.75]);
});

t.test('the limit stays between one and the maximum, and no pause exceeds 60 s', async () => {
  const signs = fc.array(fc.constantFrom<Ended>('delivered', 'retry'), { maxLength: 100 });
  fc.assert(
    fc.property(signs, random, (all, random) => {
      let limit = fullLimit(MOST);
      for (const sign of all) {
        limit = after(limit, sign, 0, random);
        const pause = limit.pausedUntil ?? PAUSE_MIN_MS;
        if (limit.allowed < 1 || limit.allowed > MOST || pause < PAUSE_MIN_MS / 2 || pause > PAUSE_MAX_MS)
          throw new Error(JSON.stringify(limit));
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
