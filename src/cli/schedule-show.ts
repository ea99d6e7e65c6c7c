import { readSchedules, type Schedule } from '../payroll/settings/schedules.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';
import type { Output } from './output.ts';
import { printTable } from './table.ts';

type Options = { employer: string; json?: true };

/** An employer's pay schedules, as they were put. */
export async function scheduleShow(context: Context, options: Options): Promise<number> {
  const id = employerId(options.employer);
  return withDatabase(context, async (db) =>
    showSchedules(context.out, await readSchedules(db, id), options),
  );
}

/** Prints pay schedules: for people each pay date, for programs the body that `schedule put` takes. */
export function showSchedules(
  out: Output,
  schedules: readonly Schedule[],
  { json }: { json?: true },
): number {
  if (json) out.json({ schedules });
  else if (schedules.length === 0) out.note('no pay schedule');
  else {
    printTable(
      out,
      ['pay frequency', 'pay group', 'pay date', 'period from', 'to'],
      schedules.flatMap(({ pay_frequency, pay_group, pay_dates }) =>
        pay_dates.map((date) => [
          pay_frequency,
          pay_group,
          date.pay_date,
          date.period_start,
          date.period_end,
        ]),
      ),
    );
  }
  return 0;
}
