import { readReadinessLimits } from '../config.ts';
import { bodyOf } from '../payroll/runs/store.ts';
import { viewReadiness } from '../readiness/report.ts';
import { readinessOfRun } from '../readiness/run-report.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printReadiness } from './readiness.ts';
import { storedRun } from './run-find.ts';

/** Asks every check whether an open run can be finalized; exit code 0 when none failed. */
export function runReadiness(context: Context, runId: string, { json }: { json?: true }): Promise<number> {
  const { out, env, now } = context;
  const limits = readReadinessLimits(env);
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    if (stored.state !== 'open') {
      throw new CommandFailed(
        `the run is ${stored.state}: readiness is checked before that, "benefits-sidecar run verify" proves it afterward`,
      );
    }
    const report = await readinessOfRun(db, bodyOf(stored), runId, { now: now(), ...limits });
    if (json) out.json(viewReadiness(report));
    else {
      printReadiness(out, report);
      out.print(`etag: ${report.etag}`);
    }
    return report.ready ? 0 : 1;
  });
}
