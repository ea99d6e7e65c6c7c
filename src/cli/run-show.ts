import { viewStoredRun } from '../payroll/run-view.ts';
import { viewRun } from '../payroll/runs/store.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { storedRun } from './run-find.ts';
import { printRun } from './run-print.ts';

/** A run and what it comes to: an open one by what the ledger knows now. */
export function runShow(context: Context, runId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    const shown = await viewStoredRun(db, await viewRun(db, stored), stored);
    if (json) out.json(shown);
    else printRun(out, shown);
    return 0;
  });
}
