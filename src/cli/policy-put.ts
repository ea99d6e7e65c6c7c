import { transact } from '../database/transaction.ts';
import { policyOf, putPolicy, readPolicies } from '../payroll/settings/policy.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';
import { readJsonFile } from './json-file.ts';
import { showPolicies } from './policy-show.ts';
import { Refused } from './refused.ts';

type Options = { employer: string; json?: true };

/** Adds a version to an employer's payroll policy. */
export async function policyPut(context: Context, file: string, options: Options): Promise<number> {
  const id = employerId(options.employer);
  const asked = policyOf(await readJsonFile(file));
  if (!asked.ok) throw new Refused('the payroll policy', asked.problems);
  return withDatabase(context, async (db) => {
    const set = { now: context.now().toISOString(), by: null };
    await transact(db, (trx) => putPolicy(trx, id, asked.policy, set));
    return showPolicies(context.out, await readPolicies(db, id), options);
  });
}
