/** Checks that censuses are complete, and that syncs match their events and uploads. */
import { type Selectable, type SqlBool, sql } from 'kysely';
import { CENSUS_SYNC_COMPLETE } from '../contract/events.ts';
import { pagesByKey } from '../database/bulk.ts';
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db, InboxTable, Tables } from '../database/tables.ts';
import { isAppError } from '../errors.ts';
import { fingerprintsOf } from '../outbox/requests.ts';
import type { Encryptor } from '../security/encryption.ts';
import { findHasher, type Hasher } from '../security/hashing.ts';
import {
  lastResourcesWithoutRow,
  recordsOfResources,
  type StateOfAction,
} from '../security/verify-recorded.ts';
import { storedFingerprints } from './diff.ts';
import { fingerprintEmployee, fingerprintOrganization, ORGANIZATION_ROW } from './fingerprints.ts';
import { bodyPart, END, openChunks, organizationOf, rowsOf } from './staged.ts';

/** Checks all staged censuses; the contents of the current ones only with an encryptor. */
export async function verifyCensuses(db: Db, encryptor: Encryptor | null, on: Verifying): Promise<void> {
  await verifyStagings(db, on);
  await verifyCounts(db, on);
  if (encryptor === null) return;
  for (const census of await currentOnes(db)) {
    on.signal.throwIfAborted();
    const wrong = await wrongContents(db, encryptor, census);
    if (wrong.size === 0) continue;
    // A census replaced during the check may have lost its chunks already.
    if ((await currentOnes(db, census.census_id)).length === 0) continue;
    for (const [table, [field, rule]] of wrong) on.report(table, census.census_id, field, rule);
  }
}

/** Checks censuses against the audit records of their staging: the last one that an employer staged is its current census. */
async function verifyStagings(db: Db, on: Verifying): Promise<void> {
  const columns = sql`census_id, employer_id, state, employee_count`;
  for await (const rows of pagesByKey<StagedRow>(db, 'staged_censuses', columns, ROWS_AT_ONCE)) {
    const ids = rows.map(({ census_id }) => census_id);
    const records = await recordsOfResources(db, ['census.stage'], ids);
    for (const { census_id, employer_id, state, employee_count } of rows) {
      const wrong = (field: string, rule: string) => on.report('staged_censuses', census_id, field, rule);
      const stagings = records.get(census_id) ?? [];
      if (stagings.length === 0) wrong('census_id', 'has no audit record of census.stage');
      else if (stagings.some(({ employer }) => employer !== employer_id)) wrong('employer_id', NOT_AS_STATED);
      else if (state === 'current' && stagings.every(({ details }) => details.employees !== employee_count))
        wrong('employee_count', NOT_AS_STATED);
    }
  }
  const isCurrent = sql<SqlBool>`exists (
    select 1 from staged_censuses where census_id = last.resource_id and state = 'current')`;
  for (const id of await lastResourcesWithoutRow(db, 'census.stage', 'employees', isCurrent, 'census.erase'))
    on.report('staged_censuses', id, 'state', 'is not current, although its audit record is the last');
}

type StagedRow = Pick<Tables['staged_censuses'], 'census_id' | 'employer_id' | 'state' | 'employee_count'>;
const NOT_AS_STATED = 'is not as its audit record of census.stage states';

/** Checks that the current censuses and the last uploads have a fingerprint for each employee and the organization. */
async function verifyCounts(db: Db, on: Verifying): Promise<void> {
  const { rows } = await sql<{ census_id: string }>`
    select census_id from staged_censuses
    where (state = 'current' or uploaded_at is not null) and employee_count + 1 <> (
      select count(*) from census_fingerprints where census_fingerprints.census_id = staged_censuses.census_id)
    order by census_id`.execute(db);
  for (const { census_id } of rows) {
    const rule = 'is not the number of its fingerprints without the organization';
    on.report('staged_censuses', census_id, 'employee_count', rule);
  }
}

function currentOnes(db: Db, censusId?: string) {
  const censuses = db
    .selectFrom('staged_censuses')
    .select(['census_id', 'employer_id', 'body_bytes', 'fingerprint_key'])
    .orderBy('census_id');
  const current = censuses.where(sql<boolean>`state = 'current'`);
  return (censusId === undefined ? current : current.where('census_id', '=', censusId)).execute();
}

type CurrentCensus = Awaited<ReturnType<typeof currentOnes>>[number];
type Wrong = Map<'staged_censuses' | 'census_fingerprints', readonly [field: string, rule: string]>;

/** Compares the size and the fingerprints with the chunks. Chunks that cannot be decrypted are reported elsewhere. */
async function wrongContents(db: Db, encryptor: Encryptor, census: CurrentCensus): Promise<Wrong> {
  const wrong: Wrong = new Map();
  const { census_id, employer_id } = census;
  const hasher = await findHasher(db, encryptor).catch(nullIfUnreadable);
  try {
    const isHashed = hasher !== null && hasher.keyId === census.fingerprint_key;
    let bytes = END.length;
    let areFingerprintsRight = true;
    for await (const chunk of openChunks(db, encryptor, census_id)) {
      bytes += bodyPart(chunk).length;
      if (!isHashed || !areFingerprintsRight) continue;
      const expected = fingerprintsIn(chunk, hasher, employer_id);
      const stored = await storedFingerprints(db, census_id, [...expected.keys()]);
      areFingerprintsRight = [...expected].every(([id, hashes]) => stored.get(id)?.equals(hashes));
    }
    const rule = 'do not match its chunks: stage this census again';
    if (bytes !== census.body_bytes) wrong.set('staged_censuses', ['body_bytes', rule]);
    if (!areFingerprintsRight) wrong.set('census_fingerprints', ['field_hashes', rule]);
  } catch (error) {
    nullIfUnreadable(error);
  }
  return wrong;
}

function nullIfUnreadable(error: unknown): null {
  if (!isAppError(error, 'DATA_KEY_MISSING', 'DECRYPTION_FAILED')) throw error;
  return null;
}

/** Returns the fingerprints of the rows in a chunk, by employee. */
function fingerprintsIn(
  { chunk, plain }: { chunk: number; plain: Buffer },
  hasher: Hasher,
  employerId: string,
): Map<string, Buffer> {
  if (chunk === 0)
    return new Map([[ORGANIZATION_ROW, fingerprintOrganization(hasher, employerId, organizationOf(plain))]]);
  const rows = rowsOf(plain).map(({ employee }) => employee);
  return new Map(rows.map((row) => [row.employee_id, fingerprintEmployee(hasher, employerId, row)]));
}

const ROWS_AT_ONCE = 2_000;

/** Returns the events with these ids. The inbox provides it, because this module must not import it. */
type EventsById = (
  ids: readonly string[],
) => Promise<
  ReadonlyMap<string, Pick<Selectable<InboxTable>, 'event_type' | 'state' | 'finished_at' | 'reprocessed'>>
>;

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

/** Checks that an applied event reported each completion. */
export async function verifyCompletions(db: Db, eventsById: EventsById, on: Verifying): Promise<void> {
  const columns = sql`event_id`;
  for await (const rows of pagesByKey<{ event_id: string }>(
    db,
    'census_completions',
    columns,
    ROWS_AT_ONCE,
  )) {
    on.signal.throwIfAborted();
    const events = await eventsById(rows.map(({ event_id }) => event_id));
    for (const { event_id } of rows) {
      const event = events.get(event_id);
      const wasApplied = event?.state === 'applied' || (event?.reprocessed ?? 0) > 0;
      if (event?.event_type !== CENSUS_SYNC_COMPLETE || !wasApplied)
        on.report('census_completions', event_id, 'event_id', 'no applied event reported this completion');
    }
  }
}

export const SYNC_STATES: readonly StateOfAction[] = [
  {
    ...{ table: 'census_syncs', key: 'sync_id', field: 'dismissed_at', is: sql`dismissed_at is not null` },
    ...{ action: 'census-sync.dismiss', at: 'dismissed_at' },
  },
];
