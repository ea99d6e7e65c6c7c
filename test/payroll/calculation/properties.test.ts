import { deepStrictEqual, equal, ok } from 'node:assert/strict';
import t from 'tap';
import { PAY_FREQUENCIES, type PayFrequency } from '../../../src/contract/employee.ts';
import {
  AMOUNT_FLAGS,
  type Amounts,
  type Contribution,
  calculator,
} from '../../../src/payroll/calculation/amounts.ts';
import {
  APPLIES_ON,
  EXTRA_PAYCHECKS,
  type PlannedRun,
  REMAINDERS,
  SCHEMES,
} from '../../../src/payroll/calculation/plan.ts';
import fc from '../../support/seeded.ts';
import { plan, plannedRun, yearOfDates } from '../calendars.ts';
import { dollars, expectedCents, fraction, roundToCents } from './oracle.ts';
import { readPage, TABLES, tablesOn, withTables } from './worked-tables.ts';

/** Cases of the comparison with the oracle; each is a run and a contribution. */
const ORACLE_RUNS = 3_000;
/** Cases that plan each check of a year in each scheme. */
const WHOLE_YEARS = 25;

const digits = (most: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: most });

/** Typical amounts, ties of half a cent, and everything else that the contract accepts. */
const amount = fc.oneof(
  fc.integer({ min: -200_000, max: 200_000 }).map((cents) => dollars(BigInt(cents))),
  fc.integer({ min: -100, max: 100 }).map((cents) => dollars(BigInt(cents))),
  fc
    .integer({ min: -4_000, max: 4_000 })
    .map((parts) => `${parts < 0 ? '-' : ''}${Math.abs(parts)}.${'5'.repeat(3)}`),
  fc
    .tuple(fc.constantFrom('', '+', '-'), digits(40), fc.option(digits(40)))
    .map(([sign, whole, decimals]) => `${sign}${whole}${decimals === null ? '' : `.${decimals}`}`),
);

/** Pay dates of a year: starting on any weekday, with leap years, 27 and 53 dates, and one moved by a holiday. */
const calendar = fc
  .record({
    frequency: fc.constantFrom(...PAY_FREQUENCIES),
    year: fc.integer({ min: 2020, max: 2035 }),
    first: fc.integer({ min: 1, max: 14 }),
    moved: fc.option(fc.nat({ max: 60 })),
  })
  .map(({ frequency, year, first, moved }) => {
    const latest = frequency === 'weekly' ? ((first - 1) % 7) + 1 : first;
    const dates = yearOfDates(frequency, year, latest);
    return { frequency, dates: moved === null ? dates : dayEarlier(dates, moved % dates.length) };
  });

/** The list with one date a day earlier, as before a bank holiday. January 1 stays in its year. */
function dayEarlier(dates: string[], index: number): string[] {
  const date = dates[index] as string;
  const earlier = new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);
  return earlier.slice(0, 4) === date.slice(0, 4) ? dates.with(index, earlier) : dates;
}

const options = fc.record({
  scheme: fc.constantFrom(...SCHEMES),
  remainder: fc.constantFrom(...REMAINDERS),
  extra_paycheck: fc.constantFrom(...EXTRA_PAYCHECKS),
});

const period = fc.constantFrom(...PAY_FREQUENCIES);

/** A run on one of the pay dates of a year. */
const run: fc.Arbitrary<PlannedRun & { pay_dates: string[] }> = fc
  .tuple(calendar, options, fc.nat({ max: 1_000 }))
  .map(([{ frequency, dates }, chosen, place]) => ({
    ...plannedRun({ ...chosen, pay_frequency: frequency, pay_date: dates[place % dates.length] as string }),
    pay_dates: dates,
  }));

function contribution(member: string, of: PayFrequency, employer = member): Contribution {
  return { member_contribution: member, employer_contribution: employer, period: of };
}

function amountsOf(of: PlannedRun, given: Contribution): Amounts {
  return calculator(plan(of))(given);
}

function centsOn(dates: readonly string[], of: PlannedRun, text: string, by: PayFrequency): bigint[] {
  return dates.map((pay_date) => amountsOf({ ...of, pay_date }, contribution(text, by)).member_amount);
}

const sum = (amounts: readonly bigint[]) => amounts.reduce((all, one) => all + one, 0n);

t.test('every amount by scheme, remainder, period and calendar equals the oracle’s', async () => {
  fc.assert(
    fc.property(run, period, amount, amount, (of, by, member, employer) => {
      const computed = amountsOf(of, contribution(member, by, employer));
      const expected = (text: string) => expectedCents(text, by, of, of.pay_dates);
      equal(computed.member_amount, expected(member));
      equal(computed.employer_amount, expected(employer));
    }),
    { numRuns: ORACLE_RUNS },
  );
});

t.test('over a year, all schemes and remainders except none sum to the rounded year', async () => {
  fc.assert(
    fc.property(run, period, amount, (of, by, text) => {
      fc.pre(by !== of.pay_frequency && of.remainder !== 'none');
      const [numerator, denominator] = fraction(text);
      const periods = { monthly: 12n, semimonthly: 24n, biweekly: 26n, weekly: 52n }[by];
      const year = roundToCents([numerator * periods, denominator]);
      for (const scheme of SCHEMES)
        equal(sum(centsOn(of.pay_dates, { ...of, scheme }, text, by)), year, scheme);
    }),
    { numRuns: WHOLE_YEARS },
  );
});

t.test('stepping from any date of a calendar gives the same valid calendar', async () => {
  const even = calendar.filter(({ frequency }) => frequency === 'weekly' || frequency === 'biweekly');
  fc.assert(
    fc.property(even, fc.nat({ max: 60 }), ({ frequency, dates }, place) => {
      const pay_date = dates[place % dates.length] as string;
      const stepped = plan({ pay_frequency: frequency, pay_date }).dates as string[];
      ok(stepped.includes(pay_date));
      deepStrictEqual(plan({ pay_frequency: frequency, pay_date, pay_dates: stepped }).dates, stepped);
      for (const date of stepped)
        deepStrictEqual(plan({ pay_frequency: frequency, pay_date: date }).dates, stepped);
    }),
    { numRuns: WHOLE_YEARS },
  );
});

t.test('amounts are correct when more amounts than the cache holds differ', async (t) => {
  const of = plan({ pay_date: '2026-03-27' });
  const together = calculator(of);
  const texts = Array.from({ length: 25_000 }, (_, index) => dollars(BigInt(index)));
  const first = texts.map((text) => together(contribution(text, 'monthly')).member_amount);
  const reversed = texts.toReversed().map((text) => together(contribution(text, 'monthly')).member_amount);
  t.strictSame(reversed, first.toReversed());
  t.equal(first[15_000], expectedCents('150.00', 'monthly', of.run, of.dates as string[]));
});

t.test('the worked tables in docs/amounts.md equal the computed ones', async (t) => {
  const page = readPage();
  t.equal(
    page,
    withTables(page),
    'else run `node test/payroll/calculation/write-worked-tables.ts` and read the difference',
  );
  t.strictSame(tablesOn(page).sort(), Object.keys(TABLES).sort(), 'each once');
});

t.test('docs/amounts.md names every option and every flag of an amount', async (t) => {
  const page = readPage();
  const names = { SCHEMES, APPLIES_ON, REMAINDERS, EXTRA_PAYCHECKS, AMOUNT_FLAGS };
  for (const [list, values] of Object.entries(names)) {
    const missing = values.filter((name) => !page.includes(`\`${name}\``));
    t.strictSame(missing, [], list);
  }
});
