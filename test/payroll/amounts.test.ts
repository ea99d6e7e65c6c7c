import t from 'tap';
import type { PayFrequency } from '../../src/contract/pay-rate.ts';
import { type Contribution, calculator } from '../../src/payroll/arithmetic/amounts.ts';
import type { PlannedRun } from '../../src/payroll/arithmetic/plan.ts';
import { every, plan, yearOfDates } from './calendars.ts';

/** 2026 has 26 of these, three in January and in July. */
const FRIDAYS = every(14, '2026-01-02', 26);
/** And 27 biweekly and 53 weekly Thursdays. */
const BIWEEKLY_THURSDAYS = every(14, '2026-01-01', 27);
const WEEKLY_THURSDAYS = every(7, '2026-01-01', 53);

function contribution(member: string, period: PayFrequency, more: Partial<Contribution> = {}): Contribution {
  return {
    member_contribution: member,
    employer_contribution: '0',
    period,
    starts_on: null,
    ends_on: null,
    ...more,
  };
}

function amountsOf(run: Partial<PlannedRun>, given: Contribution) {
  return calculator(plan(run))(given);
}

type Example = {
  member: string;
  period: PayFrequency;
  run: Partial<PlannedRun>;
  dates: readonly string[] | null;
  /** Places of the checks among the dates, from 1, with their amounts. */
  amounts: Record<number, string>;
};

/** The table of "Amounts" in payroll.md, line by line. */
const examples: Record<string, Example> = {
  '150.00 monthly, biweekly, 26 dates, none': {
    member: '150.00',
    period: 'monthly',
    run: { remainder: 'none' },
    dates: FRIDAYS,
    amounts: Object.fromEntries(FRIDAYS.map((_, index) => [index + 1, '69.23'])),
  },
  'the same, spread': {
    member: '150.00',
    period: 'monthly',
    run: { remainder: 'spread' },
    dates: FRIDAYS,
    amounts: { 7: '69.24' },
  },
  'the same, first': {
    member: '150.00',
    period: 'monthly',
    run: { remainder: 'first' },
    dates: FRIDAYS,
    amounts: { 1: '69.25', 2: '69.23', 26: '69.23' },
  },
  '100.00 semimonthly, biweekly, 26 dates, last': {
    member: '100.00',
    period: 'semimonthly',
    run: { remainder: 'last' },
    dates: FRIDAYS,
    amounts: { 1: '92.30', 25: '92.30', 26: '92.50' },
  },
  '10.00 weekly, biweekly, 27 dates, none': {
    member: '10.00',
    period: 'weekly',
    run: { remainder: 'none' },
    dates: BIWEEKLY_THURSDAYS,
    amounts: { 1: '19.26', 27: '19.26' },
  },
  '33.33 biweekly, biweekly, 27 dates': {
    member: '33.33',
    period: 'biweekly',
    run: {},
    dates: BIWEEKLY_THURSDAYS,
    amounts: { 1: '33.33', 26: '33.33', 27: '33.33' },
  },
  '33.33 biweekly, weekly, 53 dates, none': {
    member: '33.33',
    period: 'biweekly',
    run: { pay_frequency: 'weekly', remainder: 'none' },
    dates: WEEKLY_THURSDAYS,
    amounts: { 1: '16.35', 53: '16.35' },
  },
  '33.33 biweekly, semimonthly, none': {
    member: '33.33',
    period: 'biweekly',
    run: { pay_frequency: 'semimonthly', remainder: 'none' },
    dates: yearOfDates('semimonthly', 2026),
    amounts: { 1: '36.11', 24: '36.11' },
  },
  '33.33 biweekly, semimonthly, none, without a list': {
    member: '33.33',
    period: 'biweekly',
    run: { pay_frequency: 'semimonthly', remainder: 'none', pay_date: '2026-03-31' },
    dates: null,
    amounts: { 0: '36.11' },
  },
  '150.00 monthly, pay dates 3, 17, 31 July, month-even': {
    member: '150.00',
    period: 'monthly',
    run: { scheme: 'month-even' },
    dates: FRIDAYS,
    amounts: { 14: '50.00', 15: '50.00', 16: '50.00' },
  },
  '150.00 monthly, pay dates 3, 17, 31 July, first-checks': {
    member: '150.00',
    period: 'monthly',
    run: { scheme: 'first-checks' },
    dates: FRIDAYS,
    amounts: { 14: '75.00', 15: '75.00', 16: '0.00' },
  },
  '10.00 weekly, month-even, January, 3 biweekly dates, spread': {
    member: '10.00',
    period: 'weekly',
    run: { scheme: 'month-even', remainder: 'spread' },
    dates: FRIDAYS,
    amounts: { 1: '14.44', 2: '14.45', 3: '14.44' },
  },
  '-0.05 monthly, month-even, 2 dates, half-up, none': {
    member: '-0.05',
    period: 'monthly',
    run: { scheme: 'month-even', rounding: 'half-up', remainder: 'none' },
    dates: FRIDAYS,
    amounts: { 4: '-0.03', 5: '-0.03' },
  },
};

t.test('every example of payroll.md comes to its cent', async (t) => {
  for (const [name, { member, period, run, dates, amounts }] of Object.entries(examples)) {
    for (const [place, amount] of Object.entries(amounts)) {
      const pay_date = dates?.[Number(place) - 1] ?? run.pay_date ?? '';
      const computed = amountsOf({ ...run, pay_date, pay_dates: dates }, contribution(member, period));
      t.equal(computed.member_amount, amount, `${name}, check ${place}`);
    }
  }
});

t.test('an extra paycheck is skipped where the run says so, and only for its own period', async (t) => {
  const check = (place: number, extra_paycheck: 'take' | 'skip', period: PayFrequency = 'biweekly') => {
    const run = {
      pay_date: BIWEEKLY_THURSDAYS[place - 1] as string,
      pay_dates: BIWEEKLY_THURSDAYS,
      extra_paycheck,
    };
    return amountsOf(run, contribution('27.00', period)).member_amount;
  };
  t.strictSame([check(26, 'skip'), check(27, 'skip'), check(27, 'take')], ['27.00', '0.00', '27.00']);
  t.equal(check(27, 'skip', 'monthly'), '12.00', 'a year’s amount is shared by all 27');
  const offCycle = {
    kind: 'off_cycle',
    pay_date: '2026-12-31',
    pay_dates: FRIDAYS,
    extra_paycheck: 'skip',
  } as const;
  t.equal(amountsOf(offCycle, contribution('27.00', 'biweekly')).member_amount, '27.00');
});

t.test('an off-cycle check takes an even share, whatever the remainder', async (t) => {
  const amount = (run: Partial<PlannedRun>) =>
    amountsOf(
      { kind: 'off_cycle', pay_date: '2026-07-08', pay_dates: FRIDAYS, ...run },
      contribution('150', 'monthly'),
    ).member_amount;
  t.equal(amount({ remainder: 'first' }), '69.23');
  t.equal(amount({ scheme: 'month-even' }), '50.00');
  t.equal(amount({ scheme: 'first-checks', remainder: 'last' }), '75.00');
});

t.test('the sides are rounded separately', async (t) => {
  const run = { pay_date: '2026-01-02', pay_dates: FRIDAYS, remainder: 'none' } as const;
  const { member_amount, employer_amount } = amountsOf(
    run,
    contribution('0.05', 'monthly', { employer_contribution: '0.10' }),
  );
  t.strictSame([member_amount, employer_amount], ['0.02', '0.05']);
});

/** One explanation of each kind, all for 150.00 monthly unless said otherwise. */
const explanations: [run: Partial<PlannedRun>, given: Partial<Contribution>, text: string][] = [
  [{}, {}, '150.00 monthly x 12 = 1800.00 a year, check 7 of 26, spread: 484.62 - 415.38 = 69.24'],
  [
    {},
    { member_contribution: '+150' },
    '150.00 monthly x 12 = 1800.00 a year, check 7 of 26, spread: 484.62 - 415.38 = 69.24',
  ],
  [
    { remainder: 'none' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, check 7 of 26, none: 1800.00 / 26 = 69.23',
  ],
  [
    { remainder: 'none', rounding: 'up' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, check 7 of 26, none, up: 1800.00 / 26 = 69.24',
  ],
  [
    { remainder: 'first' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, check 7 of 26, first: 1800.00 / 26 cut = 69.23',
  ],
  [
    { remainder: 'first', pay_date: '2026-01-02' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, check 1 of 26, first: 1800.00 - 25 x 69.23 = 69.25',
  ],
  [
    { remainder: 'last', pay_date: '2026-12-18' },
    { member_contribution: '100.00', period: 'semimonthly' },
    '100.00 semimonthly x 24 = 2400.00 a year, check 26 of 26, last: 2400.00 - 25 x 92.30 = 92.50',
  ],
  [
    {},
    { member_contribution: '33.3333' },
    '33.3333 monthly x 12 = 399.9996 a year, rounded 400.00, check 7 of 26, spread: 107.69 - 92.31 = 15.38',
  ],
  [
    { remainder: 'none' },
    { member_contribution: '33.3333' },
    '33.3333 monthly x 12 = 399.9996 a year, check 7 of 26, none: 399.9996 / 26 = 15.38',
  ],
  [
    { scheme: 'month-even', pay_date: '2026-01-16' },
    { member_contribution: '10.00', period: 'weekly' },
    '10.00 weekly x 52 = 520.00 a year, in January 43.33 - 0.00 = 43.33, check 2 of 3, spread: 28.89 - 14.44 = 14.45',
  ],
  [
    { scheme: 'month-even', pay_date: '2026-07-31', remainder: 'none' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, in July check 3 of 3, none: 1800.00 / 12 / 3 = 50.00',
  ],
  [
    { scheme: 'first-checks', pay_date: '2026-07-17', remainder: 'last' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, in July 1050.00 - 900.00 = 150.00, check 2 of the first 2, last: 150.00 - 1 x 75.00 = 75.00',
  ],
  [
    { scheme: 'first-checks', pay_date: '2026-07-31' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, in July check 3 after the first 2 = 0.00',
  ],
  [{}, { period: 'biweekly' }, '150.00 biweekly on each biweekly check = 150.00'],
  [
    { rounding: 'half-even' },
    { period: 'biweekly', member_contribution: '0.125' },
    '0.125 biweekly on each biweekly check, half-even = 0.12',
  ],
  [
    { pay_date: '2026-12-31', pay_dates: BIWEEKLY_THURSDAYS, extra_paycheck: 'skip' },
    { period: 'biweekly' },
    '150.00 biweekly, check 27 after the first 26, skip = 0.00',
  ],
  [
    { pay_frequency: 'semimonthly', pay_date: '2026-03-31', pay_dates: null, remainder: 'none' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, one of 24 checks, none: 1800.00 / 24 = 75.00',
  ],
  [
    { kind: 'off_cycle', pay_date: '2026-07-08' },
    {},
    '150.00 monthly x 12 = 1800.00 a year, off-cycle beside 26, none: 1800.00 / 26 = 69.23',
  ],
  [
    {},
    { member_contribution: '-0.05' },
    '-0.05 monthly x 12 = -0.60 a year, check 7 of 26, spread: -0.16 - -0.14 = -0.02',
  ],
  [
    {},
    { member_contribution: '0' },
    '0.00 monthly x 12 = 0.00 a year, check 7 of 26, spread: 0.00 - 0.00 = 0.00',
  ],
  [
    {},
    { employer_contribution: '300.00' },
    '150.00 monthly x 12 = 1800.00 a year, check 7 of 26, spread: 484.62 - 415.38 = 69.24; employer 300.00 monthly x 12 = 3600.00 a year, check 7 of 26, spread: 969.23 - 830.77 = 138.46',
  ],
  [
    {},
    { member_contribution: '0.00', employer_contribution: '300.00' },
    'employer 300.00 monthly x 12 = 3600.00 a year, check 7 of 26, spread: 969.23 - 830.77 = 138.46',
  ],
];

t.test('the explanation shows every number that the amount is made of', async (t) => {
  for (const [run, given, text] of explanations) {
    const computed = amountsOf(
      { pay_date: '2026-03-27', pay_dates: FRIDAYS, ...run },
      contribution('150.00', 'monthly', given),
    );
    t.equal(computed.explanation, text);
  }
});

t.test('what a person should look at is flagged', async (t) => {
  const annualized = { pay_date: '2026-03-27', pay_dates: FRIDAYS };
  const july = { scheme: 'first-checks', pay_date: '2026-07-17', pay_dates: FRIDAYS } as const;
  const flags = (run: Partial<PlannedRun>, given: Partial<Contribution>) =>
    amountsOf(run, contribution('150.00', 'monthly', given)).flags.join(' ');

  t.equal(flags(annualized, {}), '');
  t.equal(flags(annualized, { period: 'biweekly' }), '');
  t.equal(flags(annualized, { period: 'weekly' }), 'frequency_mismatch');
  t.equal(flags(annualized, { period: 'semimonthly' }), 'frequency_mismatch');

  t.equal(flags(annualized, { member_contribution: '-0.001' }), 'negative');
  t.equal(flags(annualized, { employer_contribution: '-1' }), 'negative');
  t.equal(flags(annualized, { member_contribution: '-0.00' }), '');

  t.equal(flags(annualized, { starts_on: '2026-01-02', ends_on: '2026-12-18' }), '', 'on all 26 dates');
  t.equal(flags(annualized, { starts_on: '2026-01-03' }), 'partial_cycle');
  t.equal(flags(annualized, { ends_on: '2026-12-17' }), 'partial_cycle');
  t.equal(
    flags(annualized, { starts_on: '2026-03-01', period: 'biweekly' }),
    '',
    'its own period has no cycle',
  );
  t.equal(flags(july, { starts_on: '2026-07-03', ends_on: '2026-07-17' }), '', 'the month’s first checks');
  t.equal(flags(july, { starts_on: '2026-07-04' }), 'partial_cycle');
  t.equal(flags({ ...july, scheme: 'month-even' }, { ends_on: '2026-07-30' }), 'partial_cycle');

  const all = { member_contribution: '-5', period: 'weekly', ends_on: '2026-06-30' } as const;
  t.equal(flags(annualized, all), 'frequency_mismatch negative partial_cycle');
});
