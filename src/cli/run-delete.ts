import { transact } from '../database/transaction.ts';
import { deleteRun } from '../payroll/runs/store.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { unknownRun } from './run-find.ts';

/** Removes an open run. */
export function runDelete(context: Context, runId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const outcome = await transact(db, (trx) => deleteRun(trx, runId));
    if (outcome === 'unknown') throw unknownRun(runId);
    if (outcome === 'not-open') {
      throw new CommandFailed(
        'the run is not open any more, so it stays as proof: "benefits-sidecar run void" it',
      );
    }
    if (json) out.json({ run_id: runId, deleted: true });
    else out.print(`deleted ${printable(runId)}`);
    return 0;
  });
}
