import { requestSyncByHand } from '../census/syncs.ts';
import { transact } from '../database/transaction.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';

/** Owes an upload of an employer's census, as a request of the service would. A running `serve` sends it at once. */
export function censusSync(
  context: Context,
  { employer, json }: { employer: string; json?: true },
): Promise<number> {
  const { out, now } = context;
  const id = employerId(employer);
  return withDatabase(context, async (db) => {
    const syncId = await transact(db, (trx) =>
      requestSyncByHand(trx, { employerId: id, now: now().toISOString() }),
    );
    if (json) out.json({ sync_id: syncId });
    else out.print(syncId);
    out.note('a running "serve" uploads it now; "benefits-sidecar census show" tells how it went');
    return 0;
  });
}
