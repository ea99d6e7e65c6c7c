import t from 'tap';
import type { Span } from '../../src/console/pages/ledger/terms.ts';
import { axisOf, dayNumber, PICTURE_WIDTH, timelineOf } from '../../src/console/pages/ledger/timeline.ts';
import fc from '../support/seeded.ts';

const TODAY = '2026-07-13';
const labelled = (days: string[], width = 1_000) =>
  axisOf(days.map(dayNumber), 0, width)
    .ticks.map(({ label }) => label)
    .filter((label) => label !== '');

t.test('consecutive days have consecutive numbers in any year', async (t) => {
  t.equal(dayNumber('1970-01-01'), 0);
  t.equal(dayNumber('2026-03-01') - dayNumber('2026-02-28'), 1);
  t.equal(dayNumber('2000-03-01') - dayNumber('2000-02-28'), 2);
  t.equal(dayNumber('0001-01-02') - dayNumber('0001-01-01'), 1);
  t.equal(dayNumber('0100-01-01') - dayNumber('0099-12-31'), 1);
});

t.test('days are drawn to one scale between the ends of the axis', async (t) => {
  const { x, breaks } = axisOf([dayNumber('2026-01-01'), dayNumber('2026-01-11')], 100, 200);
  t.equal(x(dayNumber('2026-01-01')), 100);
  t.equal(x(dayNumber('2026-01-06')), 150);
  t.equal(x(dayNumber('2026-01-11')), 200);
  t.strictSame(breaks, []);
  t.equal(x(dayNumber('2020-01-01')), 100, 'an earlier day is at the start');
  t.equal(x(dayNumber('2030-01-01')), 200, 'a later day is at the end');
});

t.test(
  'ticks are months, quarters or years, depending on the space, and name the year at its start',
  async (t) => {
    t.strictSame(labelled(['2026-01-01', '2026-06-30']), ['2026', 'Feb', 'Mar', 'Apr', 'May', 'Jun']);
    t.strictSame(labelled(['2025-11-10', '2026-02-10']), ['Dec 2025', '2026', 'Feb']);
    t.strictSame(labelled(['2024-05-01', '2026-05-01'], 250), ['Jul 2024', '2025', 'Jul', '2026']);
    t.strictSame(labelled(['2016-01-01', '2020-06-01', '2024-01-01'], 400), [
      '2016',
      '2017',
      '2018',
      '2019',
      '2020',
      '2021',
      '2022',
      '2023',
      '2024',
    ]);
    t.strictSame(labelled(['2026-03-05', '2026-03-20']), ['Mar 2026'], 'days of one month show its name');
  },
);

t.test('a long gap is drawn as a break, and the years around it keep their space', async (t) => {
  const days = ['0001-01-01', '2026-01-01', '2026-12-31', '9999-12-31'];
  const { x, breaks } = axisOf(days.map(dayNumber), 0, 1_000);
  const [first, from, until, last] = days.map((day) => x(dayNumber(day)));
  t.strictSame(breaks, [
    { from: first, to: from },
    { from: until, to: last },
  ]);
  t.ok((until as number) - (from as number) > 800, 'most of the space is drawn to scale');
  t.strictSame([first, last], [0, 1_000]);
  const labels = labelled(days);
  t.equal(labels[0], '0001');
  t.equal(labels.at(-1), 'Dec 9999');
  t.match(labels, ['0001', '2026', 'Feb']);
});

t.test('a bar covers its first through last day; open ends reach the edge', async (t) => {
  const spans: Span[] = [
    { from: '2026-02-01', until: '2026-03-31' },
    { from: null, until: '2026-03-31' },
    { from: '2026-02-01', until: null },
    { from: null, until: null },
  ];
  const { axis, bars } = timelineOf(spans, [TODAY]);
  const [both, before, after, open] = bars;
  t.equal(both?.x, axis.x(dayNumber('2026-02-01')));
  t.equal((both?.x ?? 0) + (both?.width ?? 0), axis.x(dayNumber('2026-03-31')));
  t.match(before, { isOpenBefore: true, isOpenAfter: false });
  t.match(after, { x: both?.x ?? 0, isOpenBefore: false, isOpenAfter: true });
  t.ok((before?.x ?? 99) < axis.x(dayNumber('2026-01-01')), 'further left than any day');
  t.match(open, { x: before?.x ?? 0, isOpenBefore: true, isOpenAfter: true });
});

const anyDay = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const nearDay = fc
  .date({ min: new Date('2024-01-01'), max: new Date('2028-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const someDay = fc.oneof(nearDay, anyDay, fc.constantFrom('0001-01-01', '9999-12-31', TODAY));
const someSpan = fc.record({ from: fc.option(someDay), until: fc.option(someDay) });

t.test('for any days, every bar is inside the picture and later days are further right', async () => {
  fc.assert(
    fc.property(
      fc.array(someSpan, { maxLength: 50, size: 'max' }),
      someDay,
      someDay,
      (spans, today, asked) => {
        const { axis, bars } = timelineOf(spans, [today, asked]);
        const areInside = bars.every(({ x, width }) => x >= 0 && width > 0 && x + width <= PICTURE_WIDTH);
        const ends = spans.flatMap(({ from, until }) => [from, until]).filter((day) => day !== null);
        const days = [...new Set([...ends, today, asked])].toSorted();
        const places = days.map((day) => axis.x(dayNumber(day)));
        const areInOrder = places.every((x, index) => index === 0 || x > (places[index - 1] as number));
        const named = axis.ticks.filter(({ label }) => label !== '');
        const canBeRead = named.every(({ x }, index) => {
          const before = named[index - 1];
          return before === undefined || x - before.x >= before.label.length * 6;
        });
        const areInPicture = axis.ticks.every(({ x }) => x >= 0 && x <= PICTURE_WIDTH - 60);
        return areInside && areInOrder && canBeRead && areInPicture && axis.ticks.length < 200;
      },
    ),
    { numRuns: 300 },
  );
});
