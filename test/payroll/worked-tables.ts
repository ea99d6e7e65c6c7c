/** The worked tables of docs/amounts.md, made by the code that they explain. */
import { readFileSync } from 'node:fs';
import type { PayFrequency } from '../../src/contract/employee.ts';
import { total } from '../../src/money.ts';
import { type Amounts, calculator } from '../../src/payroll/calculation/amounts.ts';
import type { PlannedRun } from '../../src/payroll/calculation/plan.ts';
import { REMAINDERS, SCHEMES } from '../../src/payroll/calculation/plan.ts';
import { every, plan, yearOfDates } from './calendars.ts';

export const PAGE = new URL('../../docs/amounts.md', import.meta.url);

/** Between these two lines stands the table of that name. */
const MARKED = /(<!-- worked: ([\w-]+) -->\n).*?(<!-- end -->)/gs;

/** Biweekly: 26 dates in 2026, three of them in January and in July. */
const FRIDAYS = every(14, '2026-01-02', 26);
/** Biweekly: 27 dates. */
const THURSDAYS = every(14, '2026-01-01', 27);

/** The page with its tables as the code makes them now. Throws for a table that nothing makes. */
export function withTables(page: string): string {
  return page.replace(MARKED, (_, before: string, name: string, after: string) => {
    const make = TABLES[name];
    if (make === undefined) throw new Error(`there is no table ${name}`);
    return `${before}\n${make()}\n\n${after}`;
  });
}

/** The names of the tables on a page. */
export function tablesOn(page: string): string[] {
  return [...page.matchAll(MARKED)].map(([, , name = '']) => name);
}

export const TABLES: Readonly<Record<string, () => string>> = {
  schemes: () => {
    const amountsBy = (pay_date: string) =>
      SCHEMES.map((scheme) => amountOf({ scheme, pay_date, pay_dates: FRIDAYS }));
    const shown = FRIDAYS.filter((date) => date.startsWith('2026-07') || date.startsWith('2026-08'));
    return table(
      ['pay date', ...SCHEMES],
      [
        ...shown.map((date) => [date, ...amountsBy(date)]),
        ['all of 2026', ...SCHEMES.map((scheme) => yearOf({ scheme }, FRIDAYS))],
      ],
    );
  },
  remainders: () =>
    table(
      ['check', ...REMAINDERS],
      [
        ...[1, 2, 3, 7, 25, 26].map((place) => [
          `${place} of 26`,
          ...REMAINDERS.map((remainder) =>
            amountOf({ remainder, pay_date: FRIDAYS[place - 1] as string, pay_dates: FRIDAYS }),
          ),
        ]),
        ['all 26', ...REMAINDERS.map((remainder) => yearOf({ remainder }, FRIDAYS))],
      ],
    ),
  calendars: () => {
    const calendars: [member: string, period: PayFrequency, pay_frequency: PayFrequency, dates: string[]][] =
      [
        ['10.00', 'weekly', 'biweekly', FRIDAYS],
        ['10.00', 'weekly', 'biweekly', THURSDAYS],
        ['33.33', 'biweekly', 'weekly', every(7, '2026-01-02', 52)],
        ['33.33', 'biweekly', 'weekly', every(7, '2026-01-01', 53)],
        ['33.33', 'biweekly', 'semimonthly', yearOfDates('semimonthly', 2026)],
        ['33.33', 'biweekly', 'biweekly', THURSDAYS],
      ];
    return table(
      ['contribution', 'run', 'pay dates', 'amount', 'how'],
      calendars.map(([member, period, pay_frequency, pay_dates]) => {
        const pay_date = pay_dates[6] as string;
        const { member_amount, explanation } = amounts(
          { pay_frequency, pay_dates, pay_date, remainder: 'none' },
          member,
          period,
        );
        return [`${member} ${period}`, pay_frequency, String(pay_dates.length), member_amount, explanation];
      }),
    );
  },
  'extra-paycheck': () =>
    table(
      ['contribution', 'check', 'take', 'skip'],
      (['biweekly', 'monthly'] as const).flatMap((period) =>
        [26, 27].map((place) => [
          `27.00 ${period}`,
          `${place} of 27`,
          ...(['take', 'skip'] as const).map((extra_paycheck) =>
            amountOf(
              { extra_paycheck, pay_date: THURSDAYS[place - 1] as string, pay_dates: THURSDAYS },
              '27.00',
              period,
            ),
          ),
        ]),
      ),
    ),
  explanations: () => {
    const runs: Partial<PlannedRun>[] = [
      {},
      { pay_date: '2026-12-18' },
      { remainder: 'spread' },
      { remainder: 'none' },
      { scheme: 'month-even', pay_date: '2026-07-17' },
      { scheme: 'month-even', pay_date: '2026-07-17', remainder: 'none' },
      { scheme: 'first-checks', pay_date: '2026-07-31' },
      { ...SEMIMONTHLY, pay_dates: null },
      { kind: 'off_cycle', pay_date: '2026-07-08' },
    ];
    const texts = runs.map(
      (run) =>
        amounts({ pay_date: '2026-03-27', pay_dates: FRIDAYS, ...run }, '150.00', 'monthly').explanation,
    );
    const usual = { pay_date: '2026-03-27', pay_dates: FRIDAYS };
    const skipped = { pay_date: '2026-12-31', pay_dates: THURSDAYS, extra_paycheck: 'skip' } as const;
    texts.push(
      amounts(usual, '33.3333', 'monthly').explanation,
      amounts(usual, '33.33', 'biweekly').explanation,
      amounts(skipped, '33.33', 'biweekly').explanation,
      amounts(usual, '150.00', 'monthly', '300.00').explanation,
    );
    return ['```', ...texts, '```'].join('\n');
  },
};

const SEMIMONTHLY = {
  pay_frequency: 'semimonthly',
  pay_date: '2026-03-31',
  pay_dates: yearOfDates('semimonthly', 2026),
} as const;

function amounts(run: Partial<PlannedRun>, member: string, period: PayFrequency, employer = '0.00'): Amounts {
  return calculator(plan(run))({
    member_contribution: member,
    employer_contribution: employer,
    period,
  });
}

function amountOf(run: Partial<PlannedRun>, member = '150.00', period: PayFrequency = 'monthly'): string {
  return amounts(run, member, period).member_amount;
}

/** The sum of 150.00 monthly over all pay dates of the year. */
function yearOf(run: Partial<PlannedRun>, pay_dates: readonly string[]): string {
  return total(pay_dates.map((pay_date) => amountOf({ ...run, pay_date, pay_dates })));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')).replaceAll(' ', ''), ...rows.map(line)].join('\n');
}

/** The page as it stands. */
export function readPage(): string {
  return readFileSync(PAGE, 'utf8');
}
