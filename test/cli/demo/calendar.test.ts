import fc from 'fast-check';
import t from 'tap';
import { calendarOf, shareOf } from '../../../src/cli/demo/expected-amounts.ts';
import { PAY_FREQUENCIES } from '../../../src/contract/employee.ts';
import { schedulesOf } from '../../../src/payroll/settings/schedules.ts';

const DAYS = fc.date({ min: new Date('2020-01-01'), max: new Date('2050-12-31'), noInvalidDate: true });

for (const pay_frequency of PAY_FREQUENCIES) {
  t.test(
    `whenever the demo is played, ${pay_frequency}: a year that is covered, and two runs in it`,
    async (t) => {
      fc.assert(
        fc.property(DAYS, (today) => {
          const { payDates, first, second } = calendarOf(pay_frequency, today);
          const asked = schedulesOf({ schedules: [{ pay_frequency, pay_dates: payDates }] });
          t.equal(asked.ok, true, JSON.stringify(asked));
          const at = payDates.findIndex((date) => date.pay_date === first.pay_date);
          t.strictSame(payDates.slice(at, at + 2), [first, second]);
          // What employees of the demo enrol in begins on the first of the month.
          t.ok(first.period_end >= `${today.toISOString().slice(0, 8)}01`);
        }),
      );
    },
  );
}

t.test('amounts worked out by hand are those of docs/payroll.md', async (t) => {
  t.equal(shareOf('150.00', 'monthly', 'biweekly', { check: 7, checks: 26 }), 6_923n);
  t.equal(shareOf('150.00', 'monthly', 'biweekly', { check: 26, checks: 26 }), 6_925n);
  t.equal(shareOf('33.33', 'biweekly', 'biweekly', { check: 27, checks: 27 }), 3_333n);
});
