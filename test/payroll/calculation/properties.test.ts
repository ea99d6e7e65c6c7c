import { equal, ok } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { PAY_FREQUENCIES, type PayFrequency } from '../../../src/contract/employee.ts';
import { decimal, fractionOf, rounded, times } from '../../../src/money.ts';
import { calculator } from '../../../src/payroll/calculation/amounts.ts';
import {
  type Calendar,
  calendarOf,
  type PeriodClass,
  type RanDate,
  sharesLeavingRest,
  TAKES,
  type Takes,
  takesClass,
} from '../../../src/payroll/calculation/calendar.ts';
import { PERIODS_PER_YEAR } from '../../../src/payroll/calculation/pay-dates.ts';
import { APPLIES_ON, planOf } from '../../../src/payroll/calculation/plan.ts';
import fc from '../../support/seeded.ts';
import { listOf, plan, plannedRun, yearOfDates } from '../calendars.ts';

/** Years of one contribution, each with a few dozen steps. */
const YEARS = 150;
const STEPS = 80;

const amount = fc
  .integer({ min: -400_000, max: 400_000 })
  .map(
    (parts) =>
      `${parts < 0 ? '-' : ''}${Math.trunc(Math.abs(parts) / 1000)}.${String(Math.abs(parts) % 1000).padStart(3, '0')}`,
  );

/** What happens to the dates of a year: `place` chooses the date. */
const step = fc.record({
  what: fc.constantFrom('run', 'run', 'run', 'skip', 'void', 'add', 'drop', 'mark'),
  place: fc.nat({ max: 60 }),
  takes: fc.constantFrom(...TAKES),
});

type Year = { dates: Map<string, Takes>; ran: Map<string, RanDate & { amount: bigint }>; next: number };

const listNow = ({ dates }: Year) => listOf([...dates.keys()].sort(), Object.fromEntries(dates));

function calendarNow(frequency: PayFrequency, year: Year): Calendar {
  return calendarOf(listNow(year), frequency, [...year.ran.values()]);
}

/** Changes the dates if a PUT would be accepted: dates of finalized runs stay, and something is left for the rest. */
function changed(frequency: PayFrequency, year: Year, dates: Map<string, Takes>): void {
  const before = year.dates;
  const isRefused = (periods: PeriodClass) => {
    const taking = [...dates.values()].filter((takes) => takesClass(takes, periods));
    if (taking.length === 0) return true;
    return sharesLeavingRest(listNow(year), frequency, [...year.ran.values()], periods) !== null;
  };
  year.dates = dates;
  if (isRefused('own') || isRefused('other')) year.dates = before;
}

t.test('whatever happens to the dates of a year, they take its amount once', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...PAY_FREQUENCIES),
      fc.constantFrom(...PAY_FREQUENCIES),
      amount,
      fc.array(step, { minLength: 10, maxLength: STEPS }),
      (frequency, period, text, steps) => {
        const all = yearOfDates(frequency, 2026);
        const extra = '2026-12-30';
        const year: Year = { dates: new Map(all.map((date) => [date, 'all'])), ran: new Map(), next: 0 };
        const given = { member_contribution: text, employer_contribution: '0', period };
        const periods: PeriodClass = period === frequency ? 'own' : 'other';
        const run = (pay_date: string) => {
          const calendar = calendarNow(frequency, year);
          const planned = planOf(plannedRun({ pay_frequency: frequency, pay_date }), calendar);
          for (const date of calendar) {
            const share = date[periods]?.share;
            if (share !== undefined) ok(fractionOf(share).part >= 0n, 'no share is negative');
          }
          year.ran.set(pay_date, { pay_date, calendar, amount: calculator(planned)(given).member_amount });
        };
        for (const { what, place, takes } of steps) {
          const sorted = [...year.dates.keys()].sort();
          const open = sorted.filter((date) => !year.ran.has(date));
          const date = open[place % Math.max(1, open.length)];
          const next = open[0];
          if (what === 'run' && next !== undefined) run(next);
          else if (what === 'skip' && date !== undefined) run(date);
          else if (what === 'void')
            year.ran.delete([...year.ran.keys()][place % Math.max(1, year.ran.size)] ?? '');
          else if (what === 'add' && !year.ran.has(extra))
            changed(frequency, year, new Map(year.dates).set(extra, takes));
          else if (what === 'drop' && date !== undefined) {
            const dropped = new Map(year.dates);
            dropped.delete(date);
            changed(frequency, year, dropped);
          } else if (what === 'mark' && date !== undefined)
            changed(frequency, year, new Map(year.dates).set(date, takes));
        }
        for (const date of [...year.dates.keys()].sort()) if (!year.ran.has(date)) run(date);
        const sum = [...year.ran.values()].reduce((total, { amount: taken }) => total + taken, 0n);
        const isEach =
          periods === 'own' &&
          [...year.ran.values()].every(({ calendar }) => isEvenYear(calendar, frequency));
        const exact = times(decimal(text), PERIODS_PER_YEAR[period]);
        if (isEach)
          equal(
            sum,
            rounded(decimal(text), 1, 1) * BigInt(year.ran.size),
            'each date takes the contribution',
          );
        else if (periods === 'other')
          equal(sum, rounded(exact, 1, 1), 'the dates take the amount of the year');
      },
    ),
    { numRuns: YEARS },
  );
});

function isEvenYear(calendar: Calendar | null, frequency: PayFrequency): boolean {
  return (
    calendar?.every(
      ({ own }) => own?.share === `1/${PERIODS_PER_YEAR[frequency]}` && own.terms?.each === 1,
    ) === true
  );
}

t.test('amounts are correct when more amounts than the cache holds differ', async (t) => {
  const of = plan({ pay_date: '2026-03-27' }, listOf(yearOfDates('biweekly', 2026, 2)));
  const together = calculator(of);
  const amountOf = (cents: number) =>
    together({
      member_contribution: `${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, '0')}`,
      employer_contribution: '0',
      period: 'monthly',
    }).member_amount;
  const all = Array.from({ length: 25_000 }, (_, cents) => cents);
  t.strictSame(all.toReversed().map(amountOf), all.map(amountOf).toReversed());
  t.equal(amountOf(15_000), 6_923n);
});

t.test('docs/payroll-settings.md names every option of a calendar', async (t) => {
  const page = readFileSync(new URL('../../../docs/payroll-settings.md', import.meta.url), 'utf8');
  const missing = [...TAKES, ...APPLIES_ON].filter((name) => !page.includes(`\`${name}\``));
  t.strictSame(missing, []);
});
