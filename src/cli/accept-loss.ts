import { transact } from '../database/transaction.ts';
import { acceptLosses, unnoticedLoss } from '../inbox/data-loss.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { reasonOf } from './reason.ts';

/** Says that what a database had lost was replayed, or is given up: readiness no longer fails for it. */
export async function acceptLoss(
  context: Context,
  { reason, json }: { reason: string; json?: true },
): Promise<number> {
  const { out, now } = context;
  const why = reasonOf(reason);
  return withDatabase(context, async (db) => {
    if ((await unnoticedLoss(db, now())) !== null) {
      throw new CommandFailed(
        'the loss is not noted in the database yet: start "serve", which does, then accept it',
      );
    }
    const accepted = await transact(db, (trx) => acceptLosses(trx, why, now().toISOString()));
    if (accepted === 0) throw new CommandFailed('there is nothing to accept: no loss is open');
    if (json) out.json({ accepted });
    else out.print(`accepted ${accepted === 1 ? 'the loss' : `${accepted} losses`}`);
    return 0;
  });
}
