/** Which pay dates take a deduction, over HTTP. Every expected amount was computed by hand from docs/payroll-settings.md. */
import type { PayDate } from '../../src/payroll/settings/schedules.ts';
import { every } from '../payroll/calendars.ts';
import { onEitherEngine } from '../support/engine.ts';
import { dateOf, daysAfter, EMPLOYER } from '../support/payroll.ts';
import { begin, type Fields, type Json } from './payroll-world.ts';

const FRIDAYS = every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 4));
const marked = (dates: readonly PayDate[], takes: PayDate['takes'], ...days: string[]) =>
  dates.map((date) => (days.includes(date.pay_date) ? { ...date, takes } : date));

/** The 1st and 15th of each month, except January 1: it is paid on December 31. */
const HALF_MONTHS = Array.from({ length: 12 }, (_, month) => `2026-${String(month + 1).padStart(2, '0')}`)
  .flatMap((month) => [`${month}-01`, `${month}-15`])
  .slice(1)
  .concat('2026-12-31')
  .map((pay_date, index, dates): PayDate => {
    const before = dates[index - 1] ?? '2026-01-01';
    return {
      pay_date,
      period_start: daysAfter(before, -4),
      period_end: daysAfter(pay_date, -5),
      takes: 'all',
    };
  });

type World = {
  pay_frequency?: string;
  dates: PayDate[];
  list?: Fields;
  policy?: Fields;
  deduction?: Fields;
  amounts: Record<string, string[]>;
};

/** The deduction is 150.00 a month, unless its fields differ. The amounts are those of runs by pay date. */
const WORLDS: Record<string, World> = {
  'the first two checks of a month take premiums, and all take an HSA': {
    dates: marked(FRIDAYS, 'own_period', '2026-01-30', '2026-07-31'),
    amounts: { '2026-01-16': ['75.00', '100.00'], '2026-01-30': ['0.00', '100.00'] },
  },
  'a benefit holiday takes nothing': {
    dates: marked(FRIDAYS, 'none', '2026-07-03'),
    amounts: { '2026-06-19': ['72.00', '104.00'], '2026-07-03': ['0.00', '0.00'] },
  },
  'a 27th check takes nothing at rates of 1/26': {
    dates: [...FRIDAYS, { ...dateOf('2026-12-31', 14, 3), takes: 'none' }],
    amounts: { '2026-12-04': ['69.23', '100.00'], '2026-12-31': ['0.00', '0.00'] },
  },
  'twenty checks of a school take the year': {
    dates: FRIDAYS.slice(0, 20),
    list: { year_in_fewer_checks: true },
    deduction: { member_contribution: '710.73' },
    amounts: { '2026-01-02': ['426.43', '130.00'], '2026-09-25': ['426.59', '130.00'] },
  },
  'a payday of the 1st that moves to December has an even share': {
    pay_frequency: 'semimonthly',
    dates: HALF_MONTHS,
    amounts: { '2026-01-15': ['75.00', '108.33'], '2026-12-31': ['75.00', '108.41'] },
  },
  'premiums a month ahead begin before the coverage': {
    dates: FRIDAYS,
    policy: { applies_on: 'next_month' },
    deduction: { effective_start: '2026-07-01' },
    amounts: { '2026-05-22': ['100.00'], '2026-06-05': ['69.23', '100.00'] },
  },
};
for (const [name, { pay_frequency = 'biweekly', dates, list, policy, deduction, amounts }] of Object.entries(
  WORLDS,
)) {
  onEitherEngine(name, async (t) => {
    const world = await begin(t, '2025-12-01');
    await world.census({ 'emp-1': { pay_frequency } });
    await world.schedule({ pay_frequency, pay_dates: dates, ...list });
    if (policy) await world.policy(policy);
    const of = { effective_start: '2026-01-01', period: 'monthly', member_contribution: '150.00' };
    await world.deduct('ded-1', { ...of, ...deduction });
    await world.deduct('ded-2', {
      effective_start: '2026-01-01',
      line_of_coverage: 'hsa',
      member_contribution: '100.00',
    });
    for (const [payDate, expected] of Object.entries(amounts)) {
      const { takes: _, ...period } = dates.find(({ pay_date }) => pay_date === payDate) as PayDate;
      await world.put(payDate, payDate, { pay_frequency, ...period });
      const lines = (await world.lines(payDate)).toSorted(byDeduction);
      t.strictSame(
        lines.map(({ member_amount }) => member_amount),
        expected,
        payDate,
      );
    }
  });
}

const RULE = { rule: 'must be at most 62 days before pay_date, not 362' };
const byDeduction = (line: Json, other: Json) => (line.deduction_id < other.deduction_id ? -1 : 1);

onEitherEngine('a period a year away from its pay date is rejected in schedules and runs', async (t) => {
  const { schedule, trySchedule, tryPut, census } = await begin(t);
  const period = { period_start: '2025-09-29', period_end: '2025-10-12' };
  const wrong = FRIDAYS.map((date) => (date.pay_date === '2026-10-09' ? { ...date, ...period } : date));
  const schedules = (pay_dates: PayDate[]) => ({ schedules: [{ pay_frequency: 'biweekly', pay_dates }] });
  await census({ 'emp-1': {} });
  const refused = await trySchedule(schedules(wrong));
  t.match(
    { ...refused.json.errors[0], status: refused.status },
    { ...RULE, status: 422, path: 'schedules[0].pay_dates[20].period_end' },
  );
  await schedule({ pay_frequency: 'biweekly', pay_dates: FRIDAYS });
  const run = await tryPut('r', '2026-10-09', period);
  t.match(run, { status: 422, json: { errors: [{ ...RULE, path: 'period_end' }] } });
});

onEitherEngine('a year in fewer checks says nothing about other years', async (t) => {
  const { trySchedule, census, call } = await begin(t);
  await census({ 'emp-1': {} });
  const next = every(14, '2027-01-08', 20).map((date) => dateOf(date));
  const of = (pay_dates: PayDate[], year_in_fewer_checks: boolean) => ({
    schedules: [{ pay_frequency: 'biweekly', pay_dates, year_in_fewer_checks }],
  });
  const due = async () => (await call({ url: '/v1/payrolls-due' })).json.data.length;
  t.equal((await trySchedule(of(FRIDAYS, false))).status, 200);
  t.match(await trySchedule(of(next, true), EMPLOYER, 2027), { status: 200, json: of(next, true) });
  const { json } = await call({ url: `/v1/employers/${EMPLOYER}/pay-schedules` });
  t.match(json.years, [of(next, true), of(FRIDAYS, false)]);
  t.equal(await due(), 1, 'one payroll');
});
