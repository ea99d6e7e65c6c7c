import t from 'tap';
import { countOf, createTally, histogram, note } from '../../src/telemetry/metric.ts';
import fc from '../support/seeded.ts';

t.test('each bucket of a histogram counts the values up to its bound', (t) => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 20, noNaN: true })), (values) => {
      const bounds = [0.5, 1, 2.5, 10];
      const tally = createTally(bounds);
      for (const value of values) note(tally, value);
      const shown = histogram('test_seconds', 'Of a test.', tally).values.map(
        ({ labels, metricName, value }) => `${metricName} ${labels.le ?? ''} ${value}`,
      );
      const name = 'benefits_sidecar_test_seconds';
      t.strictSame(shown, [
        ...bounds.map(
          (bound) => `${name}_bucket ${bound} ${values.filter((value) => value <= bound).length}`,
        ),
        `${name}_bucket +Inf ${values.length}`,
        `${name}_sum  ${values.reduce((sum, value) => sum + value, 0)}`,
        `${name}_count  ${values.length}`,
      ]);
      t.equal(countOf(tally), values.length);
    }),
    { numRuns: 50 },
  );
  t.end();
});
