import { recordTaken, TAKEN_COLUMNS } from '../payroll/reconciliation/taken.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { showProgress } from './progress.ts';
import { Refused } from './refused.ts';
import { findRowsFile } from './rows-file.ts';
import { storedRun } from './run-find.ts';

/** Records what payroll took of a finalized run's lines, in place of the report before. One wrong row refuses all. */
export async function runTaken(
  context: Context,
  runId: string,
  path: string,
  { json }: { json?: true },
): Promise<number> {
  const { out, now } = context;
  const file = await findRowsFile(path);
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    if (stored.state !== 'finalized') {
      throw new CommandFailed(`the run is ${stored.state}: what was taken is reported of a finalized one`);
    }
    const progress = await showProgress(out, 'bytes', file.size);
    let read = 0;
    const rows = file.open(TAKEN_COLUMNS, (bytes) => {
      read += bytes;
      progress.set(read);
    });
    const recorded = await recordTaken(db, stored, rows, now().toISOString()).finally(progress.end);
    if (!recorded.ok) throw new Refused('the file', recorded.problems, recorded.problem_count);
    const { report, lines, owed } = recorded;
    if (json) out.json({ report, lines, owed });
    else {
      out.print(
        `report ${report}: ${lines} ${lines === 1 ? 'line' : 'lines'} named, the others taken in full; owed ${owed}`,
      );
    }
    return 0;
  });
}
