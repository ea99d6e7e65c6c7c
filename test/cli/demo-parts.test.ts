import t from 'tap';
import { calendarOf, shareOf } from '../../src/cli/demo/expected-amounts.ts';
import { firstDifference, StepFailed, waitFor } from '../../src/cli/demo/stage.ts';
import { PAY_FREQUENCIES } from '../../src/contract/employee.ts';
import { SCHEDULES } from '../../src/payroll/settings/schedules.ts';
import fc from '../support/seeded.ts';

const DAYS = fc.date({ min: new Date('2020-01-01'), max: new Date('2050-12-31'), noInvalidDate: true });

for (const pay_frequency of PAY_FREQUENCIES) {
  t.test(
    `whenever the demo is played, ${pay_frequency}: a year that is covered, and two runs in it`,
    async (t) => {
      fc.assert(
        fc.property(DAYS, (today) => {
          const { payDates, first, second } = calendarOf(pay_frequency, today);
          const asked = SCHEDULES.check({ schedules: [{ pay_frequency, pay_dates: payDates }] });
          t.equal(asked.ok, true, JSON.stringify(asked));
          const at = payDates.findIndex((date) => date.pay_date === first.pay_date);
          t.strictSame(payDates.slice(at, at + 2), [first, second]);
          // Deductions of the demo begin on the first of the month.
          t.ok(first.period_end >= `${today.toISOString().slice(0, 8)}01`);
        }),
      );
    },
  );
}

t.test("the demo's expected amounts follow docs/amounts.md", async (t) => {
  t.equal(shareOf('150.00', 'monthly', 'biweekly', { check: 7, checks: 26 }), 6_923n);
  t.equal(shareOf('150.00', 'monthly', 'biweekly', { check: 26, checks: 26 }), 6_925n);
  t.equal(shareOf('33.33', 'biweekly', 'biweekly', { check: 27, checks: 27 }), 3_333n);
});

t.test('the first difference is named by its path', async (t) => {
  const value = { a: [{ b: 1 }, { b: 2, c: null }], d: 'x' };
  t.equal(firstDifference(structuredClone(value), value), null);
  const cases: [found: unknown, path: string][] = [
    [{ ...value, d: 'y' }, 'd'],
    [{ ...value, e: 1 }, 'e'],
    [{ d: 'x' }, 'a'],
    [{ ...value, a: [{ b: 1 }] }, 'a[1]'],
    [{ ...value, a: [{ b: 1 }, { b: 2, c: undefined }] }, 'a[1].c'],
    [{ ...value, a: { 0: { b: 1 }, 1: { b: 2, c: null } } }, 'a'],
    [null, 'all of it'],
  ];
  for (const [found, path] of cases) t.equal(firstDifference(found, value), path);
});

t.test('a wait that times out names what was expected and found', async (t) => {
  const waiting = waitFor(
    'a sync, completed',
    () => ['requested'],
    (seen) => seen.includes('completed'),
    1,
  );
  await t.rejects(waiting, new StepFailed('a sync, completed within 0.001 s', '["requested"]'));
});
