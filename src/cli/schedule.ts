/** The pay schedules of an employer, which are set year by year. */

import type { ResultOf } from '../api/operation.ts';
import { listPaySchedules, putPayScheduleOfYear } from '../api/operations/payroll-settings.ts';
import { PAY_FREQUENCIES, type PayFrequency } from '../contract/employee.ts';
import {
  LAG_DAYS_MAX,
  PROPOSED_TAKES,
  type ProposedDate,
  type ProposedTakes,
  proposePayDates,
  STEP_DAYS,
} from '../formats/pay-date-proposal.ts';
import { day, several, wholeNumber, year } from './arguments.ts';
import type { Command, Context } from './command.ts';
import { wrongUsage } from './failure.ts';
import { addOperation } from './operation-command.ts';
import { type Column, printResult, printTable } from './output.ts';

export function addScheduleCommands(program: Command): void {
  const schedule = program.subcommand('schedule', "Manage an employer's pay dates.");
  addOperation(schedule, 'put', putPayScheduleOfYear, {
    description: "Replace an employer's pay dates of one year.",
    examples: ['pay-dates.json --employer maple-bakery --year 2026'],
    isBodyInFile: true,
    rows: datesOf,
    ...TABLE,
  });
  schedule
    .subcommand('propose', 'Propose the pay dates of a year, as a file to check and put.')
    .records('none')
    .examples(
      'schedule propose --year 2027 --frequency biweekly --from 2027-01-01 --lag 5 --json > pay-dates.json',
      'schedule propose --year 2027 --frequency semimonthly --day 15 --day 31 --takes every',
    )
    .requiredOption('--year <year>', 'The calendar year of the pay dates (required)', year)
    .choice('--frequency <frequency>', 'The pay frequency (required)', PAY_FREQUENCIES)
    .option('--group <group>', 'The pay group')
    .option('--from <date>', 'One pay date of the year, for weekly or biweekly pay', day)
    .option(
      '--day <number...>',
      'The pay days of each month, 31 for the last one',
      several(wholeNumber(1, LAST_DAY)),
    )
    .option(
      '--lag <days>',
      'Days from the end of a period to its pay date (default: 0)',
      wholeNumber(0, LAG_DAYS_MAX),
    )
    .choice('--takes <dates>', 'The dates that take all deductions (default: every)', PROPOSED_TAKES)
    .table()
    .does(async ({ out }: Context, options: ProposeOptions) => {
      const {
        year: ofYear,
        frequency,
        group,
        from,
        day: days = [],
        lag = 0,
        takes = PROPOSED_TAKES[0],
      } = options;
      if (frequency === undefined) throw wrongUsage('--frequency is required');
      const every = STEP_DAYS.get(frequency) ?? null;
      if (every !== null && from === undefined) throw wrongUsage(`--from is required for ${frequency} pay`);
      if (every === null && days.length !== (frequency === 'monthly' ? 1 : 2))
        throw wrongUsage(
          `--day is required ${frequency === 'monthly' ? 'once' : 'twice'} for ${frequency} pay`,
        );
      const rule = every === null ? { daysOfMonth: days } : { every, from: from as string };
      const pay_dates = proposePayDates(Number(ofYear), rule, { lagDays: lag, frequency, takes });
      const proposed = {
        pay_frequency: frequency,
        ...(group !== undefined && { pay_group: group }),
        pay_dates,
      };
      printResult(out, { schedules: [proposed] }, () => printTable(out, DATE_COLUMNS, pay_dates));
      out.note('Dates on weekends moved to Friday. Check holidays before you put the schedule.');
    });
  addOperation(schedule, 'show', listPaySchedules, {
    description: "Show an employer's pay dates of all years.",
    examples: ['--employer maple-bakery'],
    rows: ({ years }) => years.flatMap(datesOf),
    ...TABLE,
  });
}

const LAST_DAY = 31;

type ProposeOptions = {
  year: string;
  frequency?: PayFrequency;
  group?: string;
  from?: string;
  day?: number[];
  lag?: number;
  takes?: ProposedTakes;
};

type Schedules = ResultOf<typeof putPayScheduleOfYear>;
type Schedule = Schedules['schedules'][number];
type PayDate = Schedule['pay_dates'][number];
type PayDateRow = Omit<Schedule, 'pay_dates'> & PayDate;

const DATE_COLUMNS: readonly Column<ProposedDate | PayDate>[] = [
  ['pay date', (row) => row.pay_date],
  ['period start', (row) => row.period_start],
  ['period end', (row) => row.period_end],
  ['takes', (row) => row.takes],
];

const COLUMNS: readonly Column<PayDateRow>[] = [
  ['pay frequency', (row) => row.pay_frequency],
  ['pay group', (row) => row.pay_group],
  ...DATE_COLUMNS,
  ['fewer checks', (row) => (row.year_in_fewer_checks ? 'takes the whole year' : undefined), 1],
];

const TABLE = { columns: COLUMNS, none: 'This employer has no pay schedule.' };

function datesOf({ schedules }: Schedules): PayDateRow[] {
  return schedules.flatMap(({ pay_dates, ...schedule }) =>
    pay_dates.map((date) => ({ ...schedule, ...date })),
  );
}
