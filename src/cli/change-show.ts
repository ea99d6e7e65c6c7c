import { findChange } from '../employment/changes.ts';
import { pairsOf } from './change-list.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { printPairs, printTable } from './table.ts';

/** One change with its attempts. What it says stays sealed: the API shows it, to tokens that may see it, and notes who looked. */
export function changeShow(context: Context, changeId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const found = await findChange(db, changeId);
    if (found === null) throw unknownChange(changeId);
    const { change, attempts } = found;
    if (json) out.json({ ...change, last_attempts: attempts });
    else {
      printPairs(out, pairsOf(change));
      if (attempts.length > 0) {
        out.print('');
        printTable(
          out,
          ['attempt', 'began', 'ended', 'status', 'reason'],
          attempts.map((one) => [one.attempt, one.started_at, one.finished_at, one.status, one.reason]),
        );
      }
    }
    return 0;
  });
}

export function unknownChange(changeId: string): CommandFailed {
  return new CommandFailed(
    `there is no employment change ${printable(changeId)}: "benefits-sidecar change list" shows those that there are`,
  );
}
