import { checkCensus } from '../census/check.ts';
import { type Compared, compareCensus } from '../census/diff.ts';
import { viewComparison, viewFindings } from '../census/view.ts';
import { readDataKeys } from '../config.ts';
import { createEncryptor } from '../security/encryption.ts';
import { printChanges } from './census-changes.ts';
import { openCensusFile } from './census-file.ts';
import { printProblems } from './census-problems.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';

/**
 * Checks a census as staging would, and keeps nothing. With an employer it also tells what the census would change
 * against the last one that the service took; without, it needs no configuration and no database.
 */
export async function censusValidate(
  context: Context,
  file: string,
  { employer, json }: { employer?: string; json?: true },
): Promise<number> {
  const { out } = context;
  const compared = employer === undefined ? null : await compare(context, employerId(employer), file);
  const report = compared?.report ?? (await checkCensus(await openCensusFile(file)));
  if (json) out.json(compared === null ? viewFindings(report) : viewComparison(compared));
  else if (report.problemCount > 0) printProblems(out, report);
  else {
    out.print(`${report.employees} employees, no problem`);
    if (compared !== null) printChanges(out, compared);
  }
  return report.problemCount === 0 ? 0 : 1;
}

async function compare(context: Context, employer: string, file: string): Promise<Compared> {
  const encryptor = createEncryptor(readDataKeys(context.env));
  const content = await openCensusFile(file);
  return withDatabase(context, (db) => compareCensus({ db, encryptor }, employer, content));
}
