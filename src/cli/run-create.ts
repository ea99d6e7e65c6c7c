import { viewStoredRun } from '../payroll/run-view.ts';
import { beginRun } from '../payroll/runs/begin.ts';
import { RUN_ID_PATTERN } from '../payroll/runs/body.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { printable } from './output.ts';
import { askedRun, type RunOptions } from './run-options.ts';
import { printRun } from './run-print.ts';

/** Keeps a run and shows what it comes to. The same again changes nothing. */
export async function runCreate(
  context: Context,
  runId: string,
  options: RunOptions & { json?: true },
): Promise<number> {
  const { out, now } = context;
  if (!new RegExp(RUN_ID_PATTERN).test(runId)) {
    throw new WrongUsage(
      'the id of a run must be 1 to 128 of A-Z a-z 0-9 . _ -, and not only one or two dots',
    );
  }
  const run = await askedRun(options);
  return withDatabase(context, async (db) => {
    const begun = await beginRun(db, runId, run, now().toISOString());
    if (begun.outcome === 'different') {
      throw new CommandFailed(
        `another run has the id ${printable(runId)}: use another id, or "benefits-sidecar run delete" that one while it is open`,
      );
    }
    const shown = await viewStoredRun(db, begun.view, begun.stored);
    if (options.json) out.json(shown);
    else printRun(out, shown);
    if (begun.outcome === 'same') out.note('the run was there already, and nothing was changed');
    return 0;
  });
}
