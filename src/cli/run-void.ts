import { transact } from '../database/transaction.ts';
import { viewStoredRun } from '../payroll/run-view.ts';
import { settledBy } from '../payroll/runs/compute.ts';
import { viewRun, voidRun } from '../payroll/runs/store.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { reasonOf } from './reason.ts';
import { storedRun, unknownRun } from './run-find.ts';

/** Takes a finalized run back. It stays readable, and what it settled of earlier runs is due again. */
export async function runVoid(
  context: Context,
  runId: string,
  options: { reason: string; json?: true },
): Promise<number> {
  const { out, now } = context;
  const reason = reasonOf(options.reason);
  return withDatabase(context, async (db) => {
    const at = now().toISOString();
    const outcome = await transact(db, (trx) => voidRun(trx, runId, { reason, now: at }));
    if (outcome === 'unknown') throw unknownRun(runId);
    const stored = await storedRun(db, runId);
    if (outcome === 'not-finalized') {
      const todo =
        stored.state === 'open' ? '"benefits-sidecar run delete" removes it' : 'it counts as nothing';
      throw new CommandFailed(`the run is ${stored.state}, not finalized: ${todo}`);
    }
    const settled_by = await settledBy(db, stored);
    if (options.json)
      out.json({ ...(await viewStoredRun(db, await viewRun(db, stored), stored)), settled_by });
    else out.print(`voided ${printable(runId)}`);
    if (settled_by.length > 0) {
      out.note(`Finalized runs that settled something for it: ${settled_by.map(printable).join(', ')}`);
    }
    return 0;
  });
}
