import { checkCensus } from '../census/check.ts';
import { openCensusFile } from './census-file.ts';
import { findingsShape, printProblems } from './census-problems.ts';
import type { Context } from './context.ts';

/** Checks a census as staging would, and keeps nothing. Needs no configuration and no database. */
export async function censusValidate(
  { out }: Context,
  file: string,
  { json }: { json?: true },
): Promise<number> {
  const report = await checkCensus(await openCensusFile(file));
  if (json) out.json(findingsShape(report));
  else if (report.problemCount > 0) printProblems(out, report);
  else out.print(`${report.employees} employees, no problem`);
  return report.problemCount === 0 ? 0 : 1;
}
