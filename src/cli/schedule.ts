/** The pay schedules of an employer, which are set year by year. */

import type { ResultOf } from '../api/operation.ts';
import { proposePaySchedules } from '../api/operations/pay-date-proposal.ts';
import { listPaySchedules, putPayScheduleOfYear } from '../api/operations/payroll-settings.ts';
import { DATES_MOVE } from '../formats/pay-date-proposal.ts';
import type { Command } from './command.ts';
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
  addOperation(schedule, 'propose', proposePaySchedules, {
    description: 'Propose the pay dates of a year, as a file to check and put.',
    examples: [
      '--year 2027 --frequency biweekly --from 2027-01-01 --lag 5 --json > pay-dates.json',
      '--year 2027 --frequency semimonthly --day 15 --day 31 --takes every',
    ],
    flags: {
      pay_frequency: '--frequency <frequency>',
      pay_group: '--group <group>',
      day: '--day <number...>',
      lag_days: '--lag <days>',
      takes: '--takes <dates>',
    },
    isTable: true,
    async input({ perform, out }, { query }) {
      const proposed = await perform(proposePaySchedules, { query });
      printResult(out, proposed, () =>
        printTable(
          out,
          DATE_COLUMNS,
          proposed.schedules.flatMap(({ pay_dates }) => pay_dates),
        ),
      );
      out.note(`${DATES_MOVE} Check the dates before you put them.`);
      return null;
    },
  });
  addOperation(schedule, 'show', listPaySchedules, {
    description: "Show an employer's pay dates of all years.",
    examples: ['--employer maple-bakery'],
    rows: ({ years }) => years.flatMap(datesOf),
    ...TABLE,
  });
}

type ProposedDate = ResultOf<typeof proposePaySchedules>['schedules'][number]['pay_dates'][number];
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
