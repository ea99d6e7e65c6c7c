import t from 'tap';
import type { PayFrequency } from '../../../src/contract/employee.ts';
import type { Contribution } from '../../../src/payroll/calculation/amounts.ts';
import type { RanDate, YearList } from '../../../src/payroll/calculation/calendar.ts';
import { isPartialCycle, type PlannedRun } from '../../../src/payroll/calculation/plan.ts';
import { amountTexts, every, listOf, plan, ranOn } from '../calendars.ts';

/** 2026 has 26 biweekly Fridays, three of them in January and in July. */
const FRIDAYS = every(14, '2026-01-02', 26);
/** 2026 has 27 biweekly Thursdays. */
const THURSDAYS = every(14, '2026-01-01', 27);
const LIST = listOf(FRIDAYS);

function contribution(member: string, period: PayFrequency, more: Partial<Contribution> = {}): Contribution {
  return { member_contribution: member, employer_contribution: '0', period, ...more };
}

/** Plays a year: the amounts of one contribution on dates, each finalized before the next on the list of its time. */
function amountsOver(
  given: Contribution,
  frequency: PayFrequency,
  dates: readonly string[],
  listOfDate: (date: string) => YearList | null,
): string[] {
  return dates.map((pay_date, index) => {
    const ran = ranOn(frequency, dates.slice(0, index), listOfDate);
    const run = { pay_frequency: frequency, pay_date };
    return amountTexts(plan(run, listOfDate(pay_date), ran), given).member_amount;
  });
}

const thirds = FRIDAYS.filter((date, index) => FRIDAYS[index - 2]?.slice(0, 7) === date.slice(0, 7));
const marked = (dates: readonly string[], takes: 'own_period' | 'none') =>
  Object.fromEntries(dates.map((date) => [date, takes]));

/** The table of payroll.md: amounts of the year's checks, with equal neighbors as `69.23 × 25`. */
const YEARS: [
  name: string,
  given: Contribution,
  frequency: PayFrequency,
  dates: readonly string[],
  list: (date: string) => YearList | null,
  amounts: string,
][] = [
  ['no list', contribution('150.00', 'monthly'), 'biweekly', FRIDAYS.slice(0, 2), () => null, '69.23 × 2'],
  ['26 dates', contribution('150.00', 'monthly'), 'biweekly', FRIDAYS, () => LIST, '69.23 × 25, 69.25'],
  [
    'premiums on 24 of 26',
    contribution('150.00', 'monthly'),
    'biweekly',
    FRIDAYS,
    () => listOf(FRIDAYS, marked(thirds, 'own_period')),
    '75.00 × 2, 0.00, 75.00 × 12, 0.00, 75.00 × 10',
  ],
  [
    'and an HSA on 26',
    contribution('100.00', 'biweekly'),
    'biweekly',
    FRIDAYS,
    () => listOf(FRIDAYS, marked(thirds, 'own_period')),
    '100.00 × 26',
  ],
  [
    'a 27th date added after 23',
    contribution('150.00', 'monthly'),
    'biweekly',
    [...FRIDAYS, '2026-12-31'],
    (date) => listOf(date > (FRIDAYS[22] as string) ? [...FRIDAYS, '2026-12-31'] : FRIDAYS),
    '69.23 × 23, 51.92 × 3, 51.95',
  ],
  [
    'a date of 27 dropped after 23',
    contribution('150.00', 'monthly'),
    'biweekly',
    THURSDAYS.slice(0, 26),
    (date) => listOf(date > (THURSDAYS[22] as string) ? THURSDAYS.slice(0, 26) : THURSDAYS),
    '66.66 × 23, 88.88 × 2, 89.06',
  ],
  [
    '27 dates, all take',
    contribution('33.33', 'biweekly'),
    'biweekly',
    THURSDAYS,
    () => listOf(THURSDAYS),
    '33.33 × 27',
  ],
  [
    '27 dates, one takes none',
    contribution('33.33', 'biweekly'),
    'biweekly',
    THURSDAYS,
    () => listOf(THURSDAYS, { '2026-12-31': 'none' }),
    '33.33 × 26, 0.00',
  ],
  [
    'the 27th marked after 25',
    contribution('100.00', 'biweekly'),
    'biweekly',
    THURSDAYS,
    (date) => listOf(THURSDAYS, date > (THURSDAYS[24] as string) ? { '2026-12-31': 'none' } : {}),
    '100.00 × 26, 0.00',
  ],
  [
    'a benefit holiday that ends after 12',
    contribution('33.33', 'biweekly'),
    'biweekly',
    FRIDAYS.slice(0, 26),
    (date) => listOf(FRIDAYS, date > (FRIDAYS[11] as string) ? {} : marked(FRIDAYS.slice(24), 'none')),
    '36.10 × 12, 30.94 × 13, 31.16',
  ],
  [
    'a 27th date added after 26',
    contribution('150.00', 'monthly'),
    'biweekly',
    [...FRIDAYS, '2026-12-31'],
    (date) => (date === '2026-12-31' ? listOf([...FRIDAYS, date]) : LIST),
    '69.23 × 25, 69.25, 0.00',
  ],
  [
    '53 weekly dates',
    contribution('33.33', 'biweekly'),
    'weekly',
    every(7, '2026-01-01', 53),
    () => listOf(every(7, '2026-01-01', 53)),
    '16.35 × 52, 16.38',
  ],
  [
    'a year in 20 checks',
    contribution('710.73', 'monthly'),
    'biweekly',
    FRIDAYS.slice(0, 20),
    () => listOf(FRIDAYS.slice(0, 20), {}, true),
    '426.43 × 19, 426.59',
  ],
  [
    'a list after two runs without one',
    contribution('150.00', 'monthly'),
    'biweekly',
    FRIDAYS,
    (date) => (date > (FRIDAYS[1] as string) ? LIST : null),
    '69.23 × 25, 69.25',
  ],
];

function grouped(amounts: readonly string[]): string {
  const groups: [amount: string, count: number][] = [];
  for (const amount of amounts) {
    const last = groups.at(-1);
    if (last?.[0] === amount) last[1] += 1;
    else groups.push([amount, 1]);
  }
  return groups.map(([amount, count]) => (count === 1 ? amount : `${amount} × ${count}`)).join(', ');
}

t.test(
  'the checks of a year take its amount once, whatever dates are added, dropped or marked',
  async (t) => {
    for (const [name, given, frequency, dates, list, amounts] of YEARS)
      t.equal(grouped(amountsOver(given, frequency, dates, list)), amounts, name);
  },
);

t.test('an off-cycle check takes an even share, and never the rest', async (t) => {
  const amountOn = (list: YearList | null, period: PayFrequency) =>
    amountTexts(plan({ kind: 'off_cycle', pay_date: '2026-12-22' }, list), contribution('150', period))
      .member_amount;
  t.equal(amountOn(LIST, 'monthly'), '69.23');
  t.equal(amountOn(null, 'monthly'), '69.23');
  t.equal(amountOn(LIST, 'biweekly'), '150.00');
  const holiday = listOf(FRIDAYS, marked(FRIDAYS.slice(24), 'none'));
  t.equal(amountOn(holiday, 'biweekly'), '162.50', 'one of the 24 dates that take it');
});

/** Explanations for 150.00 monthly unless overridden. */
const added = [...FRIDAYS, '2026-12-31'];
const explanations: [
  run: Partial<PlannedRun>,
  list: YearList | null,
  ran: readonly RanDate[],
  given: Partial<Contribution>,
  text: string,
][] = [
  [
    {},
    LIST,
    [],
    { member_contribution: '+150' },
    '150.00 monthly × 12 = 1,800.00 a year; check 7 of 26; 69.23',
  ],
  [
    {},
    LIST,
    [],
    { member_contribution: '33.3333' },
    '33.3333 monthly × 12 = 399.9996 a year, rounded 400.00; check 7 of 26; 15.38',
  ],
  [
    {},
    LIST,
    [],
    { period: 'biweekly', member_contribution: '0.125' },
    '0.125 biweekly on each biweekly check, rounded 0.13',
  ],
  [
    { pay_date: '2026-12-18' },
    LIST,
    [],
    {},
    '150.00 monthly × 12 = 1,800.00 a year; check 26 of 26 takes the rest: 1,800.00 − 25 × 69.23 = 69.25',
  ],
  [
    { pay_date: '2026-12-04' },
    listOf(added),
    ranOn('biweekly', FRIDAYS.slice(0, 23), () => LIST),
    {},
    '150.00 monthly × 12 = 1,800.00 a year; check 25 of 27, 3/104 of the year; 51.92',
  ],
  [
    { pay_date: '2026-12-31' },
    listOf(added),
    ranOn('biweekly', FRIDAYS.slice(0, 23), () => LIST),
    {},
    '150.00 monthly × 12 = 1,800.00 a year; check 27 of 27 takes the rest: 1,800.00 − 23 × 69.23 − 3 × 51.92 = 51.95',
  ],
  [{}, null, [], {}, '150.00 monthly × 12 = 1,800.00 a year; one of 26 checks: 1,800.00 / 26 = 69.23'],
  [
    { kind: 'off_cycle', pay_date: '2026-07-08' },
    LIST,
    [],
    {},
    '150.00 monthly × 12 = 1,800.00 a year; off-cycle, as one of 26 checks; 69.23',
  ],
  [
    {},
    listOf(FRIDAYS, { '2026-03-27': 'own_period' }),
    [],
    {},
    '150.00 monthly; this pay date takes only biweekly deductions; 0.00',
  ],
  [
    {},
    listOf(FRIDAYS, { '2026-03-27': 'none' }),
    [],
    { period: 'biweekly' },
    '150.00 biweekly; this pay date takes no deductions; 0.00',
  ],
  [{}, LIST, [], { member_contribution: '0' }, '0.00 monthly × 12 = 0.00 a year; check 7 of 26; 0.00'],
  [
    {},
    LIST,
    [],
    { employer_contribution: '300.00' },
    '150.00 monthly × 12 = 1,800.00 a year; check 7 of 26; 69.23; plus employer 300.00 monthly × 12 = 3,600.00 a year; check 7 of 26; 138.46',
  ],
  [
    {},
    LIST,
    [],
    { member_contribution: '0.00', employer_contribution: '300.00' },
    'employer 300.00 monthly × 12 = 3,600.00 a year; check 7 of 26; 138.46',
  ],
];

t.test('the explanation shows every number of the calculation', async (t) => {
  for (const [run, list, ran, given, text] of explanations)
    t.equal(amountTexts(plan(run, list, ran), contribution('150.00', 'monthly', given)).explanation, text);
});

t.test('amounts below zero are flagged', async (t) => {
  const flags = (given: Partial<Contribution>, list = LIST) =>
    amountTexts(plan({}, list), contribution('150.00', 'monthly', given)).flags.join(' ');
  t.equal(flags({}), '');
  t.equal(flags({ member_contribution: '-0.001' }), '', 'the amount rounds to 0.00');
  t.equal(
    flags({ member_contribution: '-5' }, listOf(FRIDAYS, { '2026-03-27': 'none' })),
    '',
    'takes nothing',
  );
  t.equal(flags({ employer_contribution: '-1' }), 'negative');
  t.equal(flags({ member_contribution: '-0.00' }), '');
});

t.test('only the first and last lines within a partly covered year are partial', async (t) => {
  const flagged = (list: YearList, [starts, ends]: [string, string], period: PayFrequency = 'monthly') =>
    FRIDAYS.filter((pay_date) => pay_date >= starts && pay_date <= ends)
      .filter((pay_date) =>
        isPartialCycle(plan({ pay_date }, list).cycleOf(period), (day) => day >= starts && day <= ends),
      )
      .join(' ');
  t.equal(flagged(LIST, ['2026-01-02', '2026-12-18']), '', 'on all 26 dates');
  t.equal(flagged(LIST, ['2026-01-03', '2026-12-31']), '2026-01-16 2026-12-18');
  t.equal(flagged(LIST, ['2025-01-01', '2026-12-17']), '2026-01-02 2026-12-04');
  t.equal(flagged(LIST, ['2026-03-01', '2026-03-14']), '2026-03-13', 'one line is both first and last');
  const premiums = listOf(FRIDAYS, marked(thirds, 'own_period'));
  t.equal(
    flagged(premiums, ['2026-01-30', '2026-12-31']),
    '2026-02-13 2026-12-18',
    'of the dates that take it',
  );
  const offCycle = plan({ kind: 'off_cycle', pay_date: '2026-07-08' }, LIST).cycleOf('monthly');
  t.equal(
    isPartialCycle(offCycle, () => false),
    false,
    'an off-cycle check is none of them',
  );
  t.equal(
    isPartialCycle(plan().cycleOf('monthly'), () => false),
    false,
    'nor is one without a list',
  );
});

t.test('applies_on decides the day of each date on which a deduction must be in effect', async (t) => {
  const list: YearList = {
    year_in_fewer_checks: false,
    pay_dates: FRIDAYS.map((pay_date, index) => ({
      ...{ pay_date, takes: 'all' },
      period_end: every(14, '2025-12-28', 26)[index] as string,
    })),
  };
  const days = (applies_on: PlannedRun['applies_on']) =>
    plan({ applies_on, pay_date: '2026-01-02' }, list).cycleOf('monthly').days;
  t.strictSame(days('pay_date'), FRIDAYS);
  t.strictSame(days('period_end'), every(14, '2025-12-28', 26));
  t.strictSame([days('next_month')[0], days('next_month').at(-1)], ['2026-02-01', '2027-01-01']);
});
