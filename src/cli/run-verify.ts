import { type Difference, verifyRun, whyOtherRules } from '../payroll/runs/verify.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { type Output, printable } from './output.ts';
import { storedRun } from './run-find.ts';

/** Computes a finalized run again from what was known then; exit code 0 when every line comes out the same. */
export function runVerify(context: Context, runId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    if (stored.state === 'open') {
      throw new CommandFailed(
        'the run is open, so nothing is frozen yet: "benefits-sidecar run finalize" it first',
      );
    }
    const otherRules = whyOtherRules(stored);
    if (otherRules !== null) throw new CommandFailed(otherRules);
    const verified = await verifyRun(db, stored);
    const { identical, lines, difference_count, differences } = verified;
    if (json) out.json(verified);
    else if (identical) {
      out.print(
        `identical: ${lines} ${lines === 1 ? 'line' : 'lines'}, computed again from ledger position ${stored.position} by rules ${stored.rules_version}`,
      );
    } else {
      for (const difference of differences) printDifference(out, difference);
      const left = difference_count - differences.length;
      if (left > 0) out.print(`… and ${left} more`);
      out.print(`NOT identical: ${difference_count} of ${lines} lines differ`);
    }
    return identical ? 0 : 1;
  });
}

function printDifference(out: Output, { employee_id, line, frozen, computed }: Difference): void {
  out.print(printable(`${employee_id}  ${line ?? 'being in the run'}`));
  out.print(printable(`    frozen    ${JSON.stringify(frozen)}`));
  out.print(printable(`    computed  ${JSON.stringify(computed)}`));
}
