import { type Selectable, sql } from 'kysely';
import Type from 'typebox';
import { ago, FOUND_AT_MOST } from '../checks.ts';
import { maskSsnsIn } from '../contract/employee.ts';
import { FieldProblem } from '../contract/fields.ts';
import { isOneOf } from '../database/bulk.ts';
import type { CensusSyncTable, Db, SyncState } from '../database/tables.ts';
import { type ListPage, type PageRequest, pagesBy } from '../formats/cursor.ts';
import { jsonColumn } from '../formats/json-column.ts';
import { readContents } from '../outbox/requests.ts';
import type { Encryptor } from '../security/encryption.ts';
import { CensusHold } from './holds.ts';

/** A census sync as the API and the CLI show it, without its request in the outbox. */
export type CensusSync = ReturnType<typeof syncOf>;

/** `employers`: only syncs of these; null or none for all. */
type SyncFilter = {
  employerId?: string | undefined;
  employers?: readonly string[] | null;
  state?: SyncState | undefined;
  overdue?: boolean | undefined;
};

/** The time, and the age at which a sync that is not completed is overdue. */
type Overdue = { now: Date; overdueMs: number };

const syncPage = pagesBy('census-syncs', { requested_at: Type.String(), sync_id: Type.String() }, 'desc');

/** Returns a page of syncs, newest first. */
export async function listSyncs(
  db: Db,
  { employerId, employers = null, state, overdue }: SyncFilter,
  request: PageRequest,
  { now, overdueMs }: Overdue,
): Promise<ListPage<CensusSync>> {
  const overdueBefore = ago(now, overdueMs);
  let query = db.selectFrom('census_syncs').selectAll();
  if (employerId !== undefined) query = query.where('employer_id', '=', employerId);
  if (employers !== null) query = query.where('employer_id', 'in', employers);
  if (state !== undefined) query = query.where('state', '=', state);
  if (overdue === true)
    query = query.where('state', 'not in', ENDED).where('requested_at', '<', overdueBefore);
  if (overdue === false) {
    query = query.where((where) =>
      where.or([where('state', 'in', ENDED), where('requested_at', '>=', overdueBefore)]),
    );
  }
  const page = await syncPage(query, request);
  return { ...page, data: page.data.map((row) => syncOf(row, overdueBefore)) };
}

/** The states of a sync that is never overdue. */
const ENDED = ['completed', 'dismissed'] as const;

export async function findSync(
  db: Db,
  syncId: string,
  { now, overdueMs }: Overdue,
): Promise<CensusSync | null> {
  const query = db.selectFrom('census_syncs').selectAll().where('sync_id', '=', syncId);
  const row = await query.executeTakeFirst();
  return row === undefined ? null : syncOf(row, ago(now, overdueMs));
}

/** Returns the newest held sync of each employer whose census is held. `employerId`: only of this one. */
export async function heldCensuses(db: Db, employerId: string | undefined) {
  let query = db
    .selectFrom('census_syncs')
    .select(['sync_id', 'employer_id', 'held_for'])
    // The first condition lets a partial index be used.
    .where(sql<boolean>`state <> 'completed' and state = 'held'`);
  if (employerId !== undefined) query = query.where('employer_id', '=', employerId);
  const rows = await query.orderBy('requested_at', 'desc').orderBy('sync_id').limit(FOUND_AT_MOST).execute();
  const newest = new Map(rows.toReversed().map((row) => [row.employer_id, row]));
  return [...newest.values()].map((row) => ({ ...row, held_for: readHolds(row.held_for, row.sync_id) }));
}

export async function employerOfSync(db: Db, syncId: string): Promise<string | null> {
  const sync = db.selectFrom('census_syncs').select('employer_id').where('sync_id', '=', syncId);
  return (await sync.executeTakeFirst())?.employer_id ?? null;
}

export function syncsOfEvents(db: Db, eventIds: readonly string[]) {
  return db
    .selectFrom('census_syncs')
    .select(['sync_id', 'employer_id', 'event_id'])
    .where(isOneOf(db, 'event_id', eventIds))
    .execute();
}

/** Returns the employers for whom these events reported completion. */
export function completionsOfEvents(db: Db, eventIds: readonly string[]) {
  return db
    .selectFrom('census_completions')
    .selectAll()
    .where(isOneOf(db, 'event_id', eventIds))
    .execute();
}

/** Returns the response that rejected a sync's upload, SSNs masked, or null. Record the read first. */
export async function readSyncResponse(db: Db, encryptor: Encryptor, syncId: string): Promise<string | null> {
  const sync = db.selectFrom('census_syncs').select('request_id').where('sync_id', '=', syncId);
  const requestId = (await sync.executeTakeFirst())?.request_id ?? null;
  if (requestId === null) return null;
  const response = (await readContents(db, encryptor, requestId))?.response ?? null;
  return response === null ? null : maskSsnsIn(response);
}

export function isOverdue(
  { state, requested_at }: Pick<Selectable<CensusSyncTable>, 'state' | 'requested_at'>,
  overdueBefore: string,
): boolean {
  return state !== 'completed' && state !== 'dismissed' && requested_at < overdueBefore;
}

const readProblems = jsonColumn('census_syncs', 'problems', Type.Array(FieldProblem));

export const readHolds = jsonColumn('census_syncs', 'held_for', Type.Array(CensusHold));

function syncOf(sync: Selectable<CensusSyncTable>, overdueBefore: string) {
  const { sync_id, request_id: _, ...row } = sync;
  return {
    id: sync_id,
    ...row,
    /** The first problems, if the census broke the contract. */
    problems: row.problems === null ? [] : readProblems(row.problems, sync_id),
    /** Why the census is held, and whom it is about. */
    held_for: row.held_for === null ? [] : readHolds(row.held_for, sync_id),
    /** Whether it is neither completed within CENSUS_OVERDUE nor dismissed. */
    overdue: isOverdue(row, overdueBefore),
  };
}
