import t from 'tap';
import { countOf, createTally, histogram, note } from '../../src/telemetry/metric.ts';
import { createMinutes, MINUTES } from '../../src/telemetry/minutes.ts';
import fc from '../support/seeded.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');
const MINUTE = 60_000;

t.test('an hour is listed by minute, oldest first, including the current one', async (t) => {
  const minutes = createMinutes();
  minutes.note(NOON - 59 * MINUTE, 4);
  minutes.note(NOON + 59_999, 8);
  const read = minutes.read(NOON + 59_999);
  t.equal(read.length, MINUTES);
  const times = { p50_ms: 4, p99_ms: 4, slowest_ms: 4 };
  t.strictSame(read[0], { at: '2026-03-01T11:01:00.000Z', acknowledged: 1, ...times });
  t.match(read.at(-1), { at: '2026-03-01T12:00:00.000Z', acknowledged: 1, slowest_ms: 8 });
  t.equal(counted(read), 2);
  const none = { p50_ms: null, p99_ms: null, slowest_ms: null };
  t.strictSame(read[1], { at: '2026-03-01T11:02:00.000Z', acknowledged: 0, ...none });
});

t.test('percentiles are accurate within a tenth and never exceed the slowest', async (t) => {
  const minutes = createMinutes();
  const times = Array.from({ length: 1_000 }, (_, index) => (index + 1) / 10);
  for (const tookMs of times) minutes.note(NOON, tookMs);
  const minute = minutes.read(NOON).at(-1);
  const { p50_ms, p99_ms } = minute as { p50_ms: number; p99_ms: number };
  t.ok(p50_ms >= 50 && p50_ms <= 55, `p50 is ${p50_ms}, expected 50 ms`);
  t.ok(p99_ms >= 99 && p99_ms <= 100, `p99 is ${p99_ms}, expected 99 ms`);
  t.match(minute, { acknowledged: 1_000, slowest_ms: 100 });
});

t.test('times outside the measured range count as its shortest or longest', async (t) => {
  const minutes = createMinutes();
  for (const tookMs of [0, 0.01, 300_000]) minutes.note(NOON, tookMs);
  t.match(minutes.read(NOON).at(-1), { acknowledged: 3, p50_ms: 0.01, slowest_ms: 300_000 });
});

t.test('a minute is dropped after an hour and when the clock jumps in either direction', async (t) => {
  const minutes = createMinutes();
  minutes.note(NOON, 5);
  t.equal(counted(minutes.read(NOON + 59 * MINUTE)), 1);
  t.equal(counted(minutes.read(NOON + 60 * MINUTE)), 0);
  minutes.note(NOON + 120 * MINUTE, 50);
  t.equal(counted(minutes.read(NOON + 120 * MINUTE)), 1, 'its slot was reused');
  t.match(minutes.read(NOON + 120 * MINUTE).at(-1), { p50_ms: 50 }, 'its times were removed');
  minutes.note(NOON, 5);
  t.equal(counted(minutes.read(NOON)), 1, 'after a backward jump counting continues');
  t.equal(counted(minutes.read(NOON + 120 * MINUTE)), 0);
});

function counted(read: { acknowledged: number }[]): number {
  return read.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
}

t.test('each bucket of a histogram counts the values up to its bound', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 20, noNaN: true })), (values) => {
      const bounds = [0.5, 1, 2.5, 10];
      const tally = createTally(bounds);
      for (const value of values) note(tally, value);
      const { values: samples } = histogram('test_seconds', 'Of a test.', tally);
      const shown = samples.map(
        ({ labels, metricName, value }) => `${metricName} ${labels.le ?? ''} ${value}`,
      );
      const name = 'benefits_sidecar_test_seconds';
      const upTo = (bound: number) => values.filter((value) => value <= bound).length;
      t.strictSame(shown, [
        ...bounds.map((bound) => `${name}_bucket ${bound} ${upTo(bound)}`),
        `${name}_bucket +Inf ${values.length}`,
        `${name}_sum  ${values.reduce((sum, value) => sum + value, 0)}`,
        `${name}_count  ${values.length}`,
      ]);
      t.equal(countOf(tally), values.length);
    }),
    { numRuns: 50 },
  );
});
