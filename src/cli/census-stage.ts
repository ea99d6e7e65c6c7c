import { stageCensus } from '../census/staging.ts';
import { viewFindings } from '../census/view.ts';
import { readDataKeys, readReadinessLimits } from '../config.ts';
import type { Db } from '../database/tables.ts';
import { readReadiness } from '../readiness/report.ts';
import { createEncryptor } from '../security/encryption.ts';
import { openCensusFile } from './census-file.ts';
import { printProblems } from './census-problems.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';
import { printable } from './output.ts';

/** Keeps a census that passes the check for the next upload; one that does not leaves nothing behind. */
export async function censusStage(
  context: Context,
  file: string,
  { employer, json }: { employer: string; json?: true },
): Promise<number> {
  const { out, env, now } = context;
  const id = employerId(employer);
  const encryptor = createEncryptor(readDataKeys(env));
  const content = await openCensusFile(file);
  return withDatabase(context, async (db) => {
    const staged = await stageCensus({ db, encryptor, now }, id, content);
    if (!staged.ok) {
      if (json) out.json(viewFindings(staged));
      else printProblems(out, staged);
      return 1;
    }
    if (json) out.json({ census_id: staged.censusId, employees: staged.employees });
    else {
      out.print(
        `staged ${staged.employees} ${staged.employees === 1 ? 'employee' : 'employees'} of ${printable(id)}`,
      );
    }
    await noteEmployedTwice(context, db, id);
    return 0;
  });
}

/** A census under the wrong employer id shows itself here first: its employees already work for another one. */
async function noteEmployedTwice({ out, env, now }: Context, db: Db, employer: string): Promise<void> {
  const limits = readReadinessLimits(env);
  const { checks } = await readReadiness(db, { now: now(), employerId: employer, ...limits });
  const twice = checks.find((check) => check.id === 'employees-with-two-employers');
  if (twice === undefined || twice.count === 0) return;
  out.note(
    `${twice.count} of them are active with another employer too, so their deductions are in neither's list: ` +
      'check the employer id and the file, and stage the right census for both',
  );
}
