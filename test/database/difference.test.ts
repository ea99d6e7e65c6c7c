import t from 'tap';
import { isTime } from '../../src/database/difference.ts';
import fc from '../support/seeded.ts';

/** Parts of times that are right, and some that no time has. */
const PARTS = fc.tuple(
  fc.constantFrom('2026', '2024', '1900', '0000', '9999', '+012026', '20'),
  fc.constantFrom('01', '02', '04', '12', '00', '13', '2'),
  fc.constantFrom('01', '28', '29', '30', '31', '00', '32', '9'),
  fc.constantFrom('T00', 'T23', 'T24', ' 09', 't09', ''),
  fc.constantFrom(':00', ':59', ':60'),
  fc.constantFrom(':00', ':59', ':60', ''),
  fc.constantFrom('.000Z', '.999Z', 'Z', '.0001Z', '.000+00:00', '.000z', ''),
);

t.test('a time is a text that our own clock prints', async (t) => {
  let times = 0;
  const property = fc.property(PARTS, ([year, month, day, ...rest]) => {
    const text = [year, month, day].join('-') + rest.join('');
    const date = new Date(text);
    const isPrinted = !Number.isNaN(date.getTime()) && date.toISOString() === text;
    times += Number(isPrinted);
    return isTime(text) === isPrinted;
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 20_000 }));
  t.ok(times > 50, `${times} times`);
  for (const other of [null, undefined, 0, new Date(0), ['2026-01-01T00:00:00.000Z']])
    t.equal(isTime(other), false, String(other));
});
