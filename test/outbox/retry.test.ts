import t from 'tap';
import {
  type AttemptOutcome,
  type BodyKind,
  backoffMs,
  isUnknown,
  judge,
  RETRY_AFTER_MAX_MS,
  RETRY_MAX_MS,
  RETRY_MIN_MS,
  retryAfterMs,
  type Verdict,
} from '../../src/outbox/retry.ts';
import fc from '../support/seeded.ts';

const responded = (status: number, content: BodyKind = 'empty'): AttemptOutcome => ({
  responded: true,
  status,
  content,
  retryAfterMs: null,
  response: Buffer.alloc(0),
});

const verdicts: [AttemptOutcome, Verdict][] = [
  [responded(200), 'delivered'],
  [responded(202), 'delivered'],
  [responded(204), 'delivered'],
  [responded(200, 'json'), 'delivered'],
  [responded(200, 'json-error'), 'delivered'],
  [responded(200, 'not-json'), 'retry'],
  [responded(201, 'too-long'), 'retry'],
  [responded(300), 'pause'],
  [responded(301), 'pause'],
  [responded(308), 'pause'],
  [responded(400), 'rejected'],
  [responded(401), 'pause'],
  [responded(401, 'json-error'), 'pause'],
  [responded(403), 'hold'],
  [responded(404), 'pause'],
  [responded(404, 'json'), 'pause'],
  [responded(404, 'json-error'), 'rejected'],
  [responded(422, 'not-json'), 'rejected'],
  [responded(408), 'retry'],
  [responded(409), 'rejected'],
  [responded(413), 'rejected'],
  [responded(422, 'json-error'), 'rejected'],
  [responded(425), 'retry'],
  [responded(429), 'retry'],
  [responded(500), 'retry'],
  [responded(503), 'retry'],
  [responded(599), 'retry'],
  [{ responded: false, code: 'ECONNREFUSED', sent: false }, 'retry'],
  [{ responded: false, code: 'ECONNRESET', sent: true }, 'retry'],
];
for (const [outcome, verdict] of verdicts) {
  const name = outcome.responded ? `${outcome.status} (${outcome.content})` : `no response (${outcome.code})`;
  t.test(`${name} means ${verdict}`, async (t) => {
    t.equal(judge(outcome), verdict);
  });
}

t.test('an attempt without response, or with a 5xx or odd success, may have been applied', async (t) => {
  t.equal(isUnknown({ responded: false, code: 'ECONNRESET', sent: true }), true);
  t.equal(isUnknown({ responded: false, code: 'ECONNREFUSED', sent: false }), false);
  t.equal(isUnknown(responded(502)), true);
  t.equal(isUnknown(responded(200, 'not-json')), true);
  t.equal(isUnknown(responded(200, 'json')), false);
  t.equal(isUnknown(responded(429)), false);
  t.equal(isUnknown(responded(422)), false);
});

t.test('the backoff grows from one second to fifteen minutes, with full jitter', async (t) => {
  t.strictSame(
    [1, 2, 3, 4, 9, 10, 50, 5_000].map((attempt) => backoffMs(attempt, () => 1)),
    [2_000, 4_000, 8_000, 16_000, 512_000, 900_000, 900_000, 900_000],
  );
  t.equal(
    backoffMs(50, () => 0),
    RETRY_MIN_MS,
  );
  t.equal(
    backoffMs(10, () => 0.5),
    (RETRY_MIN_MS + RETRY_MAX_MS) / 2,
  );
});

t.test('the backoff is always within its bounds', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e9 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.option(fc.integer({ min: 0, max: 1e12 })),
      (attempt, random, retryAfter) => {
        const ms = backoffMs(attempt, () => random, retryAfter);
        return Number.isInteger(ms) && ms >= RETRY_MIN_MS && ms <= RETRY_AFTER_MAX_MS;
      },
    ),
  );
});

t.test('a Retry-After is honored if it is later than the backoff, up to an hour', async (t) => {
  t.equal(
    backoffMs(1, () => 0, 30_000),
    30_000,
  );
  t.equal(
    backoffMs(10, () => 1, 5_000),
    RETRY_MAX_MS,
  );
  t.equal(
    backoffMs(1, () => 0, 86_400_000),
    RETRY_AFTER_MAX_MS,
  );
});

const now = new Date('2026-01-31T09:30:00.000Z');
const headers: [string | undefined, number | null][] = [
  [undefined, null],
  ['120', 120_000],
  [' 0 ', 0],
  ['Sat, 31 Jan 2026 09:32:00 GMT', 120_000],
  ['Saturday, 31-Jan-26 09:32:00 GMT', 120_000],
  ['Sat, 31 Jan 2026 09:00:00 GMT', 0],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['99999999999', null],
];
for (const [header, expected] of headers) {
  t.test(`Retry-After ${header} means ${expected} ms`, async (t) => {
    t.equal(retryAfterMs(header, now), expected);
  });
}
