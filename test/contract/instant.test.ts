import t from 'tap';
import { termination } from '../../src/contract/employment.ts';
import { dayOf, isDay, toInstant } from '../../src/contract/instant.ts';
import fc from '../support/seeded.ts';

const instants: [string, string][] = [
  ['2026-01-05T05:31:56Z', '2026-01-05T05:31:56.000000000Z'],
  ['2026-01-05t05:31:56z', '2026-01-05T05:31:56.000000000Z'],
  ['2026-01-05 05:31:56Z', '2026-01-05T05:31:56.000000000Z'],
  ['2026-01-05T05:31:56', '2026-01-05T05:31:56.000000000Z'],
  ['2026-01-05T05:31Z', '2026-01-05T05:31:00.000000000Z'],
  ['2026-01-05T05:31:56.1Z', '2026-01-05T05:31:56.100000000Z'],
  ['2026-01-05T05:31:56,5Z', '2026-01-05T05:31:56.500000000Z'],
  ['2026-01-05T05:31:56.1234567899Z', '2026-01-05T05:31:56.123456789Z'],
  ['2026-01-01T01:00:00+02:00', '2025-12-31T23:00:00.000000000Z'],
  ['2025-12-31T23:00:00.25-0130', '2026-01-01T00:30:00.250000000Z'],
  ['2026-01-01T00:00:00-08', '2026-01-01T08:00:00.000000000Z'],
  ['2026-01-01T00:00:00-00:00', '2026-01-01T00:00:00.000000000Z'],
  ['2028-02-29T23:59:59+23:59', '2028-02-29T00:00:59.000000000Z'],
  ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000000000Z'],
  ['0099-12-31T23:30:00-01:00', '0100-01-01T00:30:00.000000000Z'],
  ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999999Z'],
];

const notInstants = [
  ...'yesterday 2026-01-05 2026-02-30T00:00:00Z 2026-02-29T00:00:00Z 2026-13-01T00:00:00Z'.split(' '),
  ...'2026-00-01T00:00:00Z 2026-01-00T00:00:00Z 2026-01-05T24:00:00Z 2026-01-05T23:60:00Z'.split(' '),
  ...'2026-06-30T23:59:60Z 2026-01-05T05:31:56.Z 2026-01-05T05:31:56+24:00 2026-01-05T05:31:56+5'.split(' '),
  ...'2026-01-05T05:31:56+00:60 2026-01-05_05:31:56Z 2026-1-5T05:31:56Z 20260105T053156Z'.split(' '),
  ...'٢٠٢٦-01-05T05:31:56Z 0000-01-01T00:00:00+00:01 9999-12-31T23:59:59-00:01'.split(' '),
  ...['', ...['%s ', ' %s', '%s\n', '+00%s'].map((text) => text.replace('%s', '2026-01-05T05:31:56Z'))],
];

t.test('a date-time becomes its instant in fixed-width UTC', async (t) => {
  for (const [text, instant] of instants) t.equal(toInstant(text), instant, text);
});

t.test('an invalid date-time, or one outside the years 0000 to 9999, has no instant', async (t) => {
  for (const text of notInstants) t.equal(toInstant(text), null, JSON.stringify(text));
});

t.test('instants sort as text in order of time', async () => {
  const moment = fc.record({
    second: fc.oneof(fc.nat(3), fc.integer({ min: -60_000_000_000, max: 250_000_000_000 })),
    fraction: fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 9 }),
    offset: fc.integer({ min: -1439, max: 1439 }),
  });
  type Moment = { second: number; fraction: string; offset: number };
  const written = ({ second, fraction, offset }: Moment) => {
    const local = new Date((second + offset * 60) * 1000).toISOString().slice(0, 19);
    const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
    const two = (part: number) => String(part).padStart(2, '0');
    return `${local}${fraction && `.${fraction}`}${offset < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`;
  };
  const nanoseconds = ({ second, fraction }: Moment) =>
    BigInt(second) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
  const sign = (a: string | bigint, b: string | bigint) => (a < b ? -1 : a > b ? 1 : 0);
  fc.assert(
    fc.property(moment, moment, (one, other) => {
      const [a, b] = [toInstant(written(one)), toInstant(written(other))];
      t.equal(a?.length, 30);
      const what = `${written(one)} | ${written(other)}`;
      t.equal(sign(a!, b!), sign(nanoseconds(one), nanoseconds(other)), what);
    }),
    { numRuns: 300 },
  );
});

t.test('a day must exist in the calendar, also by the schemas', async (t) => {
  const part = (min: number, max: number, width: number) =>
    fc.integer({ min, max }).map((number) => String(number).padStart(width, '0'));
  fc.assert(
    fc.property(part(1, 9999, 4), part(0, 13, 2), part(0, 32, 2), (year, month, day) => {
      const text = `${year}-${month}-${day}`;
      const date = new Date(`${text}T00:00:00Z`);
      const real = !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(text);
      const isAccepted = termination.accepts({ employee_id: '1', termination_date: text });
      return isDay(text) === real && isAccepted === real;
    }),
    { numRuns: 500 },
  );
  for (const text of ['2000-02-29', '2028-02-29']) t.equal(isDay(text), true, text);
  for (const text of ['1900-02-29', '2026-02-29', '2026-04-31', '2026-1-01', ''])
    t.equal(isDay(text), false, text);
});

t.test('the day of a timestamp is its written date, whatever its offset', async (t) => {
  for (const time of ['', 'T00:00:00Z', 'T23:59:59-08:00', 'T00:00:00+14:00'])
    t.equal(dayOf(`2026-01-01${time}`), '2026-01-01', time);
  t.equal(dayOf('9999-12-31T23:59:59-05:00'), '9999-12-31');
  for (const text of '2026-02-30 2026-02-30T00:00:00Z 2026-01-01T24:00:00Z 2026-01-01Z soon'.split(' '))
    t.equal(dayOf(text), null, text);
  t.equal(dayOf(''), null);
});
