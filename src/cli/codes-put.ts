import { transact } from '../database/transaction.ts';
import { codesOf } from '../payroll/settings/code-body.ts';
import { putCodes } from '../payroll/settings/schedules.ts';
import { showCodes } from './codes-show.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';
import { readJsonFile } from './json-file.ts';
import { Refused } from './refused.ts';

type Options = { employer: string; json?: true };

/** Puts an employer's payroll codes, in place of all that were there. */
export async function codesPut(context: Context, file: string, options: Options): Promise<number> {
  const id = employerId(options.employer);
  const asked = codesOf(await readJsonFile(file));
  if (!asked.ok) throw new Refused('the list of payroll codes', asked.problems);
  return withDatabase(context, async (db) => {
    const at = context.now().toISOString();
    await transact(db, (trx) => putCodes(trx, id, asked.codes, at));
    return showCodes(context.out, asked.codes, options);
  });
}
