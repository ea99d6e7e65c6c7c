/** Checks that censuses are complete, and that syncs match their events and uploads. */
import { sql } from 'kysely';
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { isAppError } from '../errors.ts';
import { censusFacts } from '../ledger/roster.ts';
import { fingerprintsOf } from '../outbox/requests.ts';
import type { Encryptor } from '../security/encryption.ts';
import type { StateOfAction } from '../security/verify-recorded.ts';
import { ORGANIZATION_ROW } from './fingerprints.ts';
import { uploadBody } from './staged.ts';

/** Checks all current censuses; their bytes only with an encryptor. */
export async function verifyCensuses(db: Db, encryptor: Encryptor | null, on: Verifying): Promise<void> {
  await verifyEmployers(db, on);
  await verifyCounts(db, on);
  if (encryptor === null) return;
  const censuses = await currentOnes(db);
  for (const census of censuses) {
    on.signal.throwIfAborted();
    const bytes = await bytesOf(db, encryptor, census.census_id);
    if (bytes === null || bytes === census.body_bytes) continue;
    // A census replaced during the check may have lost its chunks already.
    if ((await currentOnes(db, census.census_id)).length === 0) continue;
    const rule = 'do not match its chunks: stage this census again';
    on.report('staged_censuses', census.census_id, 'body_bytes', rule);
  }
}

/** Checks employers by the roster facts of censuses. One that changed nothing there is not covered. */
async function verifyEmployers(db: Db, on: Verifying): Promise<void> {
  const rows = await censusFacts(db)
    .innerJoin('staged_censuses', 'staged_censuses.census_id', 'roster_facts.source_id')
    .select('staged_censuses.census_id')
    .distinct()
    .whereRef('roster_facts.employer_id', '<>', 'staged_censuses.employer_id')
    .execute();
  for (const { census_id } of rows) {
    const rule = 'is not the employer that the roster learned it for';
    on.report('staged_censuses', census_id, 'employer_id', rule);
  }
}

/** Checks the number of employees of the current censuses and the last uploads, which have a fingerprint each. */
async function verifyCounts(db: Db, on: Verifying): Promise<void> {
  const { rows } = await sql<{ census_id: string }>`
    select census_id from staged_censuses
    where (state = 'current' or uploaded_at is not null) and employee_count <> (
      select count(*) from census_fingerprints
      where census_fingerprints.census_id = staged_censuses.census_id and employee_id <> ${ORGANIZATION_ROW})
    order by census_id`.execute(db);
  for (const { census_id } of rows) {
    on.report('staged_censuses', census_id, 'employee_count', 'is not the number of its fingerprints');
  }
}

function currentOnes(db: Db, censusId?: string) {
  const censuses = db.selectFrom('staged_censuses').select(['census_id', 'body_bytes']).orderBy('census_id');
  const current = censuses.where(sql<boolean>`state = 'current'`);
  return (censusId === undefined ? current : current.where('census_id', '=', censusId)).execute();
}

/** Returns the size of the upload body, or null if a chunk cannot be decrypted (reported elsewhere). */
async function bytesOf(db: Db, encryptor: Encryptor, censusId: string): Promise<number | null> {
  let bytes = 0;
  try {
    for await (const part of uploadBody(db, encryptor, censusId)) bytes += part.length;
  } catch (error) {
    if (isAppError(error, 'DATA_KEY_MISSING') || isAppError(error, 'DECRYPTION_FAILED')) return null;
    throw error;
  }
  return bytes;
}

const ROWS_AT_ONCE = 2_000;

/** Returns the events with these ids. The inbox provides it, because this module must not import it. */
type EventsById = (
  ids: readonly string[],
) => Promise<ReadonlyMap<string, { finished_at: string | null; reprocessed: number }>>;

/** Checks all syncs. Their events and requests are read after them, and are never removed. */
export async function verifySyncs(db: Db, eventsById: EventsById, on: Verifying): Promise<void> {
  const page = (after: string) => pageOf(db, after);
  for await (const rows of pagesOf(on, '', ROWS_AT_ONCE, page, (row) => row.sync_id)) {
    const events = await eventsById(rows.flatMap(({ event_id }) => event_id ?? []));
    const ids = rows.flatMap(({ request_id }) => request_id ?? []);
    const requests = await fingerprintsOf(db, ids);
    for (const { sync_id, employer_id, event_id, request_id, requested_at } of rows) {
      const wrong = (field: string, rule: string) => on.report('census_syncs', sync_id, field, rule);
      const upload = request_id === null ? null : requests.get(request_id);
      if (upload !== null && upload?.kind !== 'census') wrong('request_id', 'there is no such upload');
      else if (upload !== null && upload?.subject_id !== employer_id) {
        wrong('employer_id', 'is not the employer of its upload');
      }
      if (event_id === null) continue;
      const event = events.get(event_id);
      if (event === undefined) wrong('event_id', 'there is no such event');
      else if (event.reprocessed === 0 && event.finished_at !== null && requested_at !== event.finished_at) {
        wrong('requested_at', 'is not when its event was applied');
      }
    }
  }
}

function pageOf(db: Db, after: string) {
  return db
    .selectFrom('census_syncs')
    .select(['sync_id', 'employer_id', 'event_id', 'request_id', 'requested_at'])
    .where('sync_id', '>', after)
    .orderBy('sync_id')
    .limit(ROWS_AT_ONCE)
    .execute();
}

export const SYNC_STATES: readonly StateOfAction[] = [
  {
    ...{ table: 'census_syncs', key: 'sync_id', field: 'dismissed_at', is: sql`dismissed_at is not null` },
    ...{ action: 'census-sync.dismiss', at: 'dismissed_at' },
  },
];
