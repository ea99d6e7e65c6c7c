import { listSyncs } from '../census/sync-list.ts';
import { requestSyncManually } from '../census/syncs.ts';
import { viewSync } from '../census/view.ts';
import { readCensus } from '../config.ts';
import { transact } from '../database/transaction.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';

/** Syncs of one employer that may be opened in the moment between opening one and reading it. */
const JUST_OPENED = 100;

/** Owes an upload of an employer's census, as a request of the service would. A running `serve` sends it at once. */
export function censusSync(
  context: Context,
  { employer, json }: { employer: string; json?: true },
): Promise<number> {
  const { out, env } = context;
  const id = employerId(employer);
  const { overdueMs } = readCensus(env);
  return withDatabase(context, async (db) => {
    const now = context.now();
    const request = { employerId: id, now: now.toISOString() };
    const syncId = await transact(db, (trx) => requestSyncManually(trx, request));
    if (json) {
      const page = { limit: JUST_OPENED };
      const { syncs } = await listSyncs(db, { employerId: id }, page, { now, overdueMs });
      out.json(syncs.filter((sync) => sync.sync_id === syncId).map(viewSync)[0]);
    } else out.print(syncId);
    out.note(
      'a running "serve" uploads it as soon as it has a fresh census; "benefits-sidecar census show" tells how it went',
    );
    return 0;
  });
}
