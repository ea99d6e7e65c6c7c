/** The calendars and messages of the demo. As users start it: test/product/demo.test.ts. */
import { deepStrictEqual, ok } from 'node:assert/strict';
import t from 'tap';
import { PAY_FREQUENCIES } from '../../src/contract/employee.ts';
import { calendarOf } from '../../src/dev/demo/pay-dates.ts';
import { firstDifference, StepFailed, waitFor } from '../../src/dev/demo/stage.ts';
import { checkSchedules } from '../../src/payroll/settings/schedules.ts';
import fc from '../support/seeded.ts';

const DAYS = fc.date({ min: new Date('2020-01-01'), max: new Date('2050-12-31'), noInvalidDate: true });

t.test('whenever the demo is played, its calendars cover a year with two runs', async (t) => {
  const property = fc.property(fc.constantFrom(...PAY_FREQUENCIES), DAYS, (pay_frequency, today) => {
    const { payDates, first, second } = calendarOf(pay_frequency, today);
    const year = first.pay_date.slice(0, 'YYYY'.length);
    checkSchedules({ schedules: [{ pay_frequency, pay_dates: payDates }] }, year);
    const at = payDates.findIndex((date) => date.pay_date === first.pay_date);
    deepStrictEqual(payDates.slice(at, at + 2), [first, second]);
    // Deductions of the demo begin on the first of the month.
    ok(first.period_end >= `${today.toISOString().slice(0, 8)}01`);
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 400 }));
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
  const isCompleted = (seen: string[]) => seen.includes('completed');
  const waiting = waitFor('a sync, completed', () => ['requested'], isCompleted, 1);
  await t.rejects(waiting, new StepFailed('a sync, completed within 0.001 s', '["requested"]'));
});
