import t from 'tap';
import type { PayFrequency } from '../../../src/contract/employee.ts';
import type { Contribution } from '../../../src/payroll/calculation/amounts.ts';
import { isPartialCycle, type PlannedRun, planOf } from '../../../src/payroll/calculation/plan.ts';
import { amountTexts, every, plan, plannedRun } from '../calendars.ts';

/** 2026 has 26 biweekly Fridays, three of them in January and in July. */
const FRIDAYS = every(14, '2026-01-02', 26);
/** 2026 has 27 biweekly Thursdays. */
const BIWEEKLY_THURSDAYS = every(14, '2026-01-01', 27);

function contribution(member: string, period: PayFrequency, more: Partial<Contribution> = {}): Contribution {
  return { member_contribution: member, employer_contribution: '0', period, ...more };
}

function amountsOf(run: Partial<PlannedRun>, given: Contribution) {
  return amountTexts(plan(run), given);
}

t.test('an extra paycheck is skipped if the run has the option, only for its own frequency', async (t) => {
  const check = (place: number, extra_paycheck: 'take' | 'skip', period: PayFrequency = 'biweekly') => {
    const run = {
      pay_date: BIWEEKLY_THURSDAYS[place - 1] as string,
      pay_dates: BIWEEKLY_THURSDAYS,
      extra_paycheck,
    };
    return amountsOf(run, contribution('27.00', period)).member_amount;
  };
  t.strictSame([check(26, 'skip'), check(27, 'skip'), check(27, 'take')], ['27.00', '0.00', '27.00']);
  t.equal(check(27, 'skip', 'monthly'), '12.00', 'a yearly amount is divided among all 27');
  const offCycle = {
    kind: 'off_cycle',
    pay_date: '2026-12-31',
    pay_dates: FRIDAYS,
    extra_paycheck: 'skip',
  } as const;
  t.equal(amountsOf(offCycle, contribution('27.00', 'biweekly')).member_amount, '27.00');
});

t.test('an off-cycle check takes an even share with any remainder option', async (t) => {
  const amount = (run: Partial<PlannedRun>) =>
    amountsOf(
      { kind: 'off_cycle', pay_date: '2026-07-08', pay_dates: FRIDAYS, ...run },
      contribution('150', 'monthly'),
    ).member_amount;
  t.equal(amount({ remainder: 'last' }), '69.23');
  t.equal(amount({ scheme: 'month-even' }), '50.00');
  t.equal(amount({ scheme: 'first-checks', remainder: 'last' }), '75.00');
});

/** Explanations that docs/amounts.md does not show, for 150.00 monthly unless overridden. */
const explanations: [run: Partial<PlannedRun>, given: Partial<Contribution>, text: string][] = [
  [{}, { member_contribution: '+150' }, '150.00 monthly × 12 = 1,800.00 a year; check 7 of 26; 69.23'],
  [
    { remainder: 'none' },
    { member_contribution: '33.3333' },
    '33.3333 monthly × 12 = 399.9996 a year; check 7 of 26: 399.9996 / 26 = 15.38',
  ],
  [
    { scheme: 'month-even', pay_date: '2026-01-16', remainder: 'spread' },
    { member_contribution: '10.00', period: 'weekly' },
    '10.00 weekly × 52 = 520.00 a year; January 43.33 − 0.00 = 43.33; check 2 of 3 in January, spread: 28.89 − 14.44 = 14.45',
  ],
  [
    {},
    { period: 'biweekly', member_contribution: '0.125' },
    '0.125 biweekly on each biweekly check, rounded 0.13',
  ],
  [
    { pay_date: '2026-12-31', pay_dates: BIWEEKLY_THURSDAYS, extra_paycheck: 'skip' },
    { period: 'biweekly' },
    '150.00 biweekly; check 27, after the first 26, is skipped; 0.00',
  ],
  [{ pay_dates: null }, {}, '150.00 monthly × 12 = 1,800.00 a year; check 7 of 26: 1,800.00 / 26 = 69.23'],
  [
    { kind: 'off_cycle', pay_date: '2026-07-08' },
    {},
    '150.00 monthly × 12 = 1,800.00 a year; off-cycle, as one of 26 checks: 1,800.00 / 26 = 69.23',
  ],
  [
    { kind: 'off_cycle', pay_date: '2026-07-08', scheme: 'first-checks' },
    {},
    '150.00 monthly × 12 = 1,800.00 a year; off-cycle, as one of the first 2 checks in July: 1,800.00 / 12 / 2 = 75.00',
  ],
  [
    { remainder: 'spread' },
    { member_contribution: '-0.05' },
    '-0.05 monthly × 12 = -0.60 a year; check 7 of 26, spread: -0.16 − -0.14 = -0.02',
  ],
  [{}, { member_contribution: '0' }, '0.00 monthly × 12 = 0.00 a year; check 7 of 26; 0.00'],
  [
    {},
    { employer_contribution: '300.00' },
    '150.00 monthly × 12 = 1,800.00 a year; check 7 of 26; 69.23; plus employer 300.00 monthly × 12 = 3,600.00 a year; check 7 of 26; 138.46',
  ],
  [
    {},
    { member_contribution: '0.00', employer_contribution: '300.00' },
    'employer 300.00 monthly × 12 = 3,600.00 a year; check 7 of 26; 138.46',
  ],
];

t.test('the explanation shows every number of the calculation', async (t) => {
  for (const [run, given, text] of explanations) {
    const asked = { pay_date: '2026-03-27', pay_dates: FRIDAYS, ...run };
    const computed = amountsOf(asked, contribution('150.00', 'monthly', given));
    t.equal(computed.explanation, text);
  }
});

t.test('amounts below zero and unusual periods are flagged', async (t) => {
  const annualized = { pay_date: '2026-03-27', pay_dates: FRIDAYS };
  const firstChecks = { ...annualized, scheme: 'first-checks' } as const;
  const flags = (run: Partial<PlannedRun>, given: Partial<Contribution>) =>
    amountsOf(run, contribution('150.00', 'monthly', given)).flags.join(' ');

  t.equal(flags(annualized, {}), '');
  t.equal(flags(annualized, { period: 'biweekly' }), '');
  t.equal(flags(annualized, { period: 'weekly' }), 'frequency_mismatch');
  t.equal(flags(annualized, { period: 'semimonthly' }), 'frequency_mismatch');
  t.equal(flags(firstChecks, { period: 'semimonthly' }), '', '24 of 26');
  t.equal(flags(firstChecks, { period: 'weekly' }), 'frequency_mismatch');
  const weekly = { ...firstChecks, pay_frequency: 'weekly', pay_dates: null } as const;
  t.equal(flags(weekly, { period: 'semimonthly' }), 'frequency_mismatch');

  t.equal(flags(annualized, { member_contribution: '-0.001' }), '', 'the amount rounds to 0.00');
  const third = { ...firstChecks, pay_date: '2026-01-30' };
  t.equal(flags(third, { member_contribution: '-5' }), '', 'the third check of the month takes nothing');
  t.equal(flags(annualized, { employer_contribution: '-1' }), 'negative');
  t.equal(flags(annualized, { member_contribution: '-0.00' }), '');
  t.equal(flags(annualized, { member_contribution: '-5', period: 'weekly' }), 'frequency_mismatch negative');
});

t.test('only the first and last lines within a partly covered cycle are partial', async (t) => {
  const flagged = (
    run: Partial<PlannedRun>,
    [starts, ends]: [string, string],
    period: PayFrequency = 'monthly',
  ) =>
    FRIDAYS.filter((pay_date) => pay_date >= starts && pay_date <= ends)
      .filter((pay_date) => {
        const planned = plan({ pay_dates: FRIDAYS, ...run, pay_date });
        return isPartialCycle(planned, period, (day) => day >= starts && day <= ends);
      })
      .join(' ');
  t.equal(flagged({}, ['2026-01-02', '2026-12-18']), '', 'on all 26 dates');
  t.equal(flagged({}, ['2026-01-03', '2026-12-31']), '2026-01-16 2026-12-18');
  t.equal(flagged({}, ['2025-01-01', '2026-12-17']), '2026-01-02 2026-12-04');
  t.equal(flagged({}, ['2026-03-01', '2026-03-14']), '2026-03-13', 'one line is both first and last');
  const flags = flagged({}, ['2026-03-01', '2026-12-31'], 'biweekly');
  t.equal(flags, '', 'a contribution for the run’s frequency has no cycle');
  const july: [string, string] = ['2026-07-17', '2026-08-31'];
  t.equal(flagged({ scheme: 'month-even' }, july), '2026-07-17 2026-07-31', 'August is covered');
  t.equal(flagged({ scheme: 'first-checks' }, july), '2026-07-17', 'the third check is not in the cycle');
});

t.test('an off-cycle check and one of unknown pay dates are never partial', async (t) => {
  const never = () => false;
  const offCycle = plan({ kind: 'off_cycle', pay_date: '2026-07-08', pay_dates: FRIDAYS });
  t.equal(isPartialCycle(offCycle, 'monthly', never), false);
  t.equal(isPartialCycle(plan({ pay_frequency: 'semimonthly' }), 'monthly', never), false);
});

t.test('with period_end a cycle has the schedule’s period ends, else its pay dates', async (t) => {
  const run = plannedRun({ pay_date: '2026-01-02', applies_on: 'period_end' });
  const ends = every(14, '2025-12-28', 26);
  const dated = FRIDAYS.map((pay_date, index) => ({ pay_date, period_end: ends[index] as string }));
  const planned = planOf(run, dated);
  if (!planned.ok) throw new Error(planned.problem.rule);
  t.strictSame(planned.plan.cycleDays, ends);
  // In effect all year. The first period ends in December, the last one before the end of the year.
  const isEarlier = isPartialCycle(planned.plan, 'monthly', (day) => day >= '2025-12-28');
  t.equal(isEarlier, false);
  const isPartial = isPartialCycle(planned.plan, 'monthly', (day) => day >= '2026-01-01');
  t.equal(isPartial, true);
  t.strictSame(plan({ applies_on: 'period_end', pay_dates: FRIDAYS }).cycleDays, FRIDAYS);
  const byPayDate = planOf({ ...run, applies_on: 'pay_date' }, dated);
  t.strictSame(byPayDate.ok && byPayDate.plan.cycleDays, FRIDAYS);
});
