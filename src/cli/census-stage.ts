import { stageCensus } from '../census/staging.ts';
import { readDataKeys } from '../config.ts';
import { createSealer } from '../security/sealing.ts';
import { openCensusFile } from './census-file.ts';
import { findingsShape, printProblems } from './census-problems.ts';
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
  const sealer = createSealer(readDataKeys(env));
  const content = await openCensusFile(file);
  return withDatabase(context, async (db) => {
    const staged = await stageCensus({ db, sealer, now }, id, content);
    if (!staged.ok) {
      if (json) out.json(findingsShape(staged));
      else printProblems(out, staged);
      return 1;
    }
    if (json) out.json({ census_id: staged.censusId, employees: staged.employees });
    else
      out.print(
        `staged ${staged.employees} employees of ${printable(id)}; a sync that waited for it goes on`,
      );
    return 0;
  });
}
