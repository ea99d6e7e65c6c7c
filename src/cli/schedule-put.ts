import { transact } from '../database/transaction.ts';
import { schedulesOf } from '../payroll/settings/schedule-body.ts';
import { putSchedules } from '../payroll/settings/schedules.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';
import { readJsonFile } from './json-file.ts';
import { Refused } from './refused.ts';
import { showSchedules } from './schedule-show.ts';

type Options = { employer: string; json?: true };

/** Puts an employer's pay schedules, in place of all that were there. */
export async function schedulePut(context: Context, file: string, options: Options): Promise<number> {
  const id = employerId(options.employer);
  const asked = schedulesOf(await readJsonFile(file));
  if (!asked.ok) throw new Refused('the pay schedule', asked.problems);
  return withDatabase(context, async (db) => {
    const at = context.now().toISOString();
    await transact(db, (trx) => putSchedules(trx, id, asked.schedules, at));
    return showSchedules(context.out, asked.schedules, options);
  });
}
