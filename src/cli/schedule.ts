/** The pay schedules of an employer, which are set year by year. */
import { transact } from '../database/transaction.ts';
import { putScheduleYear } from '../payroll/lifecycle/schedules.ts';
import {
  byYear,
  checkSchedules,
  type PayDate,
  readSchedules,
  type Schedule,
} from '../payroll/settings/schedules.ts';
import { readJsonFile, year } from './arguments.ts';
import { actingIn, type Command, type DatabaseContext } from './command.ts';
import { inputRefused } from './failure.ts';
import { type Column, printList, printResult } from './output.ts';
import { addShowCommand, type Options } from './settings.ts';

export function addScheduleCommands(program: Command): void {
  const schedule = program.subcommand('schedule', "Manage an employer's pay dates.");
  schedule
    .subcommand('put', "Replace an employer's pay dates of one year.")
    .records('schedule.put')
    .examples('schedule put pay-dates.json --employer maple-bakery --year 2026')
    .argument('<file>', 'A .json file with the request body of the API')
    .employer()
    .requiredOption('--year <year>', 'The calendar year of the pay dates (required)', year)
    .table()
    .doesOnDatabase(async (context, path: string, { employer, year }: Options & { year: string }) => {
      const { db } = context;
      const checked = checkSchedules(await readJsonFile(path), year);
      if (!checked.ok) throw inputRefused('the pay schedule', checked);
      await transact(db, (trx) => putScheduleYear(trx, employer, year, checked.value, actingIn(context)));
      await print(context, { employer });
    });
  addShowCommand(schedule, 'schedule', "Show an employer's pay dates of all years.", print);
}

type PayDateRow = Omit<Schedule, 'pay_dates'> & PayDate;

const COLUMNS: readonly Column<PayDateRow>[] = [
  ['pay frequency', (row) => row.pay_frequency],
  ['pay group', (row) => row.pay_group],
  ['pay date', (row) => row.pay_date],
  ['period start', (row) => row.period_start],
  ['period end', (row) => row.period_end],
  ['takes', (row) => row.takes],
];

async function print({ db, out }: DatabaseContext, { employer, knownAt }: Options): Promise<void> {
  const view = byYear(await readSchedules(db, employer, knownAt));
  const rows = view.years.flatMap(({ schedules }) =>
    schedules.flatMap(({ pay_dates, ...schedule }) => pay_dates.map((date) => ({ ...schedule, ...date }))),
  );
  const none = 'This employer has no pay schedule.';
  printResult(out, view, () => printList(out, { columns: COLUMNS, rows, none }));
}
