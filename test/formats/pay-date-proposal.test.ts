import t from 'tap';
import { Temporal } from 'temporal-polyfill';
import { businessDay } from '../../src/formats/bank-holidays.ts';
import { type PayDateRule, proposePayDates } from '../../src/formats/pay-date-proposal.ts';
import { checkSchedules } from '../../src/payroll/settings/schedules.ts';

type Case = readonly [
  name: string,
  frequency: string,
  year: number,
  rule: PayDateRule,
  lagDays: number,
  count: number,
  rows: Readonly<Record<number, string>>,
];

/** `rows`: pay date, period start and period end of some rows, by their index. */
const CASES: readonly Case[] = [
  [
    'biweekly dates count in both directions from a date of any year',
    ...(['biweekly', 2026, { every: 14, from: '2027-01-15' }, 5, 27] as const),
    { 0: '2026-01-02 2025-12-15 2025-12-28', 26: '2026-12-31 2026-12-14 2026-12-27' },
  ],
  [
    'a leap year has 53 weekly dates if the weekday comes first on January 2',
    ...(['weekly', 2032, { every: 7, from: '2026-01-02' }, 0, 53] as const),
    { 0: '2032-01-02 2031-12-27 2032-01-02', 52: '2032-12-31 2032-12-25 2032-12-31' },
  ],
  [
    'a weekly date on a Saturday moves to Friday, and its period does not move',
    ...(['weekly', 2022, { every: 7, from: '2022-01-08' }, 0, 52] as const),
    { 0: '2022-01-07 2022-01-02 2022-01-08', 51: '2022-12-30 2022-12-25 2022-12-31' },
  ],
  [
    'semimonthly dates are sorted, and the last day differs by month',
    ...(['semimonthly', 2028, { daysOfMonth: [31, 15] }, 0, 24] as const),
    {
      0: '2028-01-14 2028-01-01 2028-01-15',
      3: '2028-02-29 2028-02-16 2028-02-29',
      23: '2028-12-29 2028-12-16 2028-12-31',
    },
  ],
  [
    'a lag lets the fifth pay for the end of the month before',
    ...(['semimonthly', 2026, { daysOfMonth: [5, 20] }, 5, 24] as const),
    { 0: '2026-01-05 2025-12-16 2025-12-31', 4: '2026-03-05 2026-02-16 2026-02-28' },
  ],
  [
    'the last day of the month is the last business day',
    ...(['monthly', 2026, { daysOfMonth: [31] }, 0, 12] as const),
    {
      0: '2026-01-30 2026-01-01 2026-01-31',
      1: '2026-02-27 2026-02-01 2026-02-28',
      4: '2026-05-29 2026-05-01 2026-05-31',
    },
  ],
  [
    'New Year moves into the year before',
    ...(['monthly', 2027, { daysOfMonth: [1] }, 0, 12] as const),
    { 0: '2027-02-01 2027-01-02 2027-02-01', 11: '2027-12-31 2027-12-02 2028-01-01' },
  ],
  [
    'a day that a month lacks is its last day',
    ...(['monthly', 2026, { daysOfMonth: [30] }, 0, 12] as const),
    { 1: '2026-02-27 2026-01-31 2026-02-28', 2: '2026-03-30 2026-03-01 2026-03-30' },
  ],
];

for (const [name, pay_frequency, year, rule, lagDays, count, rows] of CASES) {
  t.test(name, async (t) => {
    const proposed = { lagDays, frequency: pay_frequency, takes: 'every' } as const;
    const pay_dates = proposePayDates(year, rule, proposed);
    t.equal(pay_dates.length, count);
    for (const [index, row] of Object.entries(rows))
      t.equal(Object.values(pay_dates[Number(index)] ?? {}).join(' '), `${row} all`);
    const accepted = () => checkSchedules({ schedules: [{ pay_frequency, pay_dates }] }, String(year));
    t.doesNotThrow(accepted, 'the API accepts the year');
  });
}

t.test(
  'the first two of each month, the first or the last take all deductions, if a person says so',
  async (t) => {
    const takes = (which: 'first-of-month' | 'first' | 'last') =>
      proposePayDates(
        2026,
        { every: 14, from: '2026-01-02' },
        { lagDays: 0, frequency: 'biweekly', takes: which },
      )
        .filter(({ pay_date }) => pay_date.startsWith('2026-07'))
        .map((date) => date.takes);
    t.strictSame(takes('first-of-month'), ['all', 'all', 'own_period']);
    t.strictSame(takes('first'), ['all', 'own_period', 'own_period']);
    t.strictSame(takes('last'), ['own_period', 'own_period', 'all']);
    const proposed = { lagDays: 0, frequency: 'semimonthly', takes: 'first-of-month' } as const;
    const semimonthly = proposePayDates(2026, { daysOfMonth: [1, 15] }, proposed);
    const isTaking = semimonthly.every((date) => date.takes === 'all');
    t.ok(isTaking, 'a date that a weekend moved into a month is not its third');
  },
);

/** The holidays of two years on which the Federal Reserve Banks are closed, as they publish them. */
const CLOSED = [
  ...['2026-01-01', '2026-01-19', '2026-02-16', '2026-05-25', '2026-06-19', '2026-09-07', '2026-10-12'],
  ...['2026-11-11', '2026-11-26', '2026-12-25', '2027-01-01', '2027-01-18', '2027-02-15', '2027-05-31'],
  ...['2027-07-05', '2027-09-06', '2027-10-11', '2027-11-11', '2027-11-25'],
];

t.test('banks are closed on the holidays of a year, and open on the Friday before a Saturday', async (t) => {
  const first = Temporal.PlainDate.from('2026-01-01');
  const days = Array.from({ length: 2 * 365 }, (_, index) => first.add({ days: index }));
  const closed = days.filter((day) => day.dayOfWeek <= 5 && !businessDay(day).equals(day));
  t.strictSame(closed.map(String), CLOSED);
  t.equal(String(businessDay(Temporal.PlainDate.from('2027-07-05'))), '2027-07-02', 'a long weekend');
});
