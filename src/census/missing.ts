/** Detects a census that lost its employees: the service may treat everyone whom it lacks as terminated. */
import { setImmediate } from 'node:timers/promises';
import type { Db } from '../database/tables.ts';
import { reportedTerminations } from '../ledger/roster.ts';
import { canceledAmong } from '../outbox/requests.ts';
import { hasField, ORGANIZATION_ROW } from './fingerprints.ts';
import { lastUpload, type StagedCensus } from './staged.ts';

/** Fewer employees leave in any month without a report of each. */
const MISSING_MIN = 3;
/** One in this many. */
const MISSING_SHARE = 10;
export const MISSING_LISTED_MAX = 1_000;
const ROWS_AT_ONCE = 1_000;

type Missing = { count: number; employee_ids: string[] };

/**
 * Returns the employees of the last delivered upload whom this census lacks, if they are more than a tenth and at least
 * three of them, or all of them; else null. Employees whose termination was reported, or was in the upload, don't count.
 */
export async function missingEmployees(
  db: Db,
  { census_id, employer_id }: Pick<StagedCensus, 'census_id' | 'employer_id'>,
): Promise<Missing | null> {
  const upload = await lastUpload(db, employer_id);
  if (upload === null || upload.census_id === census_id) return null;
  let expected = 0;
  const missing: Missing = { count: 0, employee_ids: [] };
  let after = ORGANIZATION_ROW;
  for (;;) {
    const rows = await rowsAfter(db, { uploaded: upload.census_id, census: census_id, after });
    const active = rows.filter(({ field_hashes }) => !hasField(field_hashes, 'termination_date'));
    const left = await terminatedAmong(
      db,
      employer_id,
      active.map(({ employee_id }) => employee_id),
    );
    for (const { employee_id, kept } of active) {
      if (left.has(employee_id)) continue;
      expected += 1;
      if (kept !== null) continue;
      missing.count += 1;
      if (missing.employee_ids.length < MISSING_LISTED_MAX) missing.employee_ids.push(employee_id);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) break;
    after = last.employee_id;
    // SQLite is read synchronously, so other work runs here.
    await setImmediate();
  }
  const { count } = missing;
  const isHeld = count === expected || (count >= MISSING_MIN && count * MISSING_SHARE > expected);
  return count > 0 && isHeld ? missing : null;
}

/** Returns a page of the uploaded employees by id. `kept` is null for one whom the other census lacks. */
function rowsAfter(db: Db, { uploaded, census, after }: { uploaded: string; census: string; after: string }) {
  return db
    .selectFrom('census_fingerprints as uploaded')
    .leftJoin('census_fingerprints as staged', (join) =>
      join.onRef('staged.employee_id', '=', 'uploaded.employee_id').on('staged.census_id', '=', census),
    )
    .select(['uploaded.employee_id', 'uploaded.field_hashes', 'staged.employee_id as kept'])
    .where('uploaded.census_id', '=', uploaded)
    .where('uploaded.employee_id', '>', after)
    .orderBy('uploaded.employee_id')
    .limit(ROWS_AT_ONCE)
    .execute();
}

/** Returns the employees whose termination was reported and not canceled. */
async function terminatedAmong(db: Db, employerId: string, ids: readonly string[]): Promise<Set<string>> {
  const reported = await reportedTerminations(db, employerId, ids);
  const canceled = await canceledAmong(
    db,
    reported.map(({ source_id }) => source_id),
  );
  return new Set(
    reported.filter(({ source_id }) => !canceled.has(source_id)).map(({ employee_id }) => employee_id),
  );
}
