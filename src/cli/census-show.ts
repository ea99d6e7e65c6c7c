import { currentCensus } from '../census/staged.ts';
import { type CensusSync, listSyncs } from '../census/sync-list.ts';
import { readCensus } from '../config.ts';
import { describe } from '../contract/check.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { type Output, printable } from './output.ts';
import { printPairs, printTable } from './table.ts';

/** Enough to see how the last rounds went. */
const SYNCS_SHOWN = 5;
/** Of the newest sync, for people; `--json` has all that are kept. */
const PROBLEMS_SHOWN = 20;

/** What is staged for an employer and how its latest syncs went. No personal data: the census itself stays sealed. */
export function censusShow(
  context: Context,
  { employer, json }: { employer: string; json?: true },
): Promise<number> {
  const { out, env } = context;
  const { maxAgeMs, overdueMs } = readCensus(env);
  return withDatabase(context, async (db) => {
    const now = context.now();
    const staged = await currentCensus(db, employer);
    const page = { limit: SYNCS_SHOWN };
    const { syncs } = await listSyncs(db, { employerId: employer }, page, { now, overdueMs });
    const fresh = staged !== null && now.getTime() - Date.parse(staged.stagedAt) <= maxAgeMs;
    const census = staged && {
      census_id: staged.censusId,
      employer_id: staged.employerId,
      staged_at: staged.stagedAt,
      employees: staged.employees,
      fresh,
    };
    if (json) out.json({ census, syncs: syncs.map(syncShape) });
    else {
      if (census === null) out.print('no census is staged');
      else printPairs(out, { ...census, fresh: fresh ? 'yes' : 'no: older than CENSUS_MAX_AGE' });
      printSyncs(out, syncs);
    }
    return 0;
  });
}

/** As the API shows a sync. */
export function syncShape({ request_id: _, ...sync }: CensusSync) {
  return sync;
}

function printSyncs(out: Output, syncs: readonly CensusSync[]): void {
  if (syncs.length === 0) {
    out.note('no sync was requested yet');
    return;
  }
  out.print('');
  printTable(
    out,
    ['requested', 'state', 'uploaded', 'completed', 'reason'],
    syncs.map((sync) => [
      sync.requested_at,
      sync.overdue ? `${sync.state}, overdue` : sync.state,
      sync.uploaded_at,
      sync.completed_at,
      sync.reason,
    ]),
  );
  for (const problem of (syncs[0]?.problems ?? []).slice(0, PROBLEMS_SHOWN)) {
    out.print(`  ${printable(describe(problem))}`);
  }
}
