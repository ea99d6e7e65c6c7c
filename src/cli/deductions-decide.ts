import { transact } from '../database/transaction.ts';
import { decideStart } from '../ledger/start-decisions.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { reasonOf } from './reason.ts';

type Options = { version: number; decision: 'keep' | 'drop'; reason: string; json?: true };

/** Records whether a version whose start was moved before it began applies. */
export async function deductionsDecide(
  context: Context,
  deductionId: string,
  { version, decision, reason, json }: Options,
): Promise<number> {
  const { out, now } = context;
  const given = { deductionId, version, decision, reason: reasonOf(reason), decidedBy: 'command line' };
  return withDatabase(context, async (db) => {
    const decided = await transact(db, (trx) => decideStart(trx, given, now().toISOString()));
    if (decided.outcome === 'unknown')
      throw new CommandFailed(`${printable(deductionId)} has no version ${version}`);
    if (decided.outcome === 'not-undecided')
      throw new CommandFailed(`version ${version} of ${printable(deductionId)} needs no decision`);
    const { version_position: _, ...row } = decided.row;
    if (json) out.json(row);
    else out.print(`${decision}: version ${version} of ${printable(deductionId)}`);
    return 0;
  });
}
