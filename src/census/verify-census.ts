/**
 * Checks that staged censuses are complete and belong to their employer, and that syncs match their events
 * and uploads.
 */
import { sql } from 'kysely';
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { isAppError } from '../errors.ts';
import type { Encryptor } from '../security/encryption.ts';
import { bodyPart, END } from './chunks.ts';
import { openChunks } from './staged.ts';

type Staged = { census_id: string; body_bytes: number };

/** Checks all current censuses; their bytes only with an encryptor. */
export async function verifyCensuses(db: Db, encryptor: Encryptor | null, on: Verifying): Promise<void> {
  await verifyEmployers(db, on);
  if (encryptor === null) return;
  const censuses = await currentOnes(db);
  for (const census of censuses) {
    on.signal.throwIfAborted();
    const bytes = await bytesOf(db, encryptor, census.census_id);
    if (bytes === null || bytes === census.body_bytes) continue;
    // A census replaced during the check may have lost its chunks already.
    const still = await currentOnes(db, census.census_id);
    if (still.length === 0) continue;
    const rule = 'are not those of its chunks: bring this census again';
    on.report({ table: 'staged_censuses', id: census.census_id, field: 'body_bytes', rule });
  }
}

/**
 * Roster facts from a census name the employer too. A census that changed nothing in the roster is not
 * covered.
 */
async function verifyEmployers(db: Db, on: Verifying): Promise<void> {
  const rows = await db
    .selectFrom('roster_facts')
    .innerJoin('staged_censuses', 'staged_censuses.census_id', 'roster_facts.source_id')
    .select('staged_censuses.census_id')
    .distinct()
    .where('roster_facts.source', '=', 'census')
    .whereRef('roster_facts.employer_id', '<>', 'staged_censuses.employer_id')
    .execute();
  for (const { census_id } of rows) {
    const rule = 'is not the employer that the roster learned it for';
    on.report({ table: 'staged_censuses', id: census_id, field: 'employer_id', rule });
  }
}

function currentOnes(db: Db, censusId?: string): Promise<Staged[]> {
  return db
    .selectFrom('staged_censuses')
    .select(['census_id', 'body_bytes'])
    .where(sql<boolean>`state = 'current'`)
    .$if(censusId !== undefined, (query) => query.where('census_id', '=', censusId as string))
    .orderBy('census_id')
    .execute();
}

/**
 * Returns the bytes of the upload body, or null if a chunk cannot be decrypted, which another check reports.
 */
async function bytesOf(db: Db, encryptor: Encryptor, censusId: string): Promise<number | null> {
  let bytes = END.length;
  try {
    for await (const { chunk, plain } of openChunks(db, encryptor, censusId)) {
      bytes += bodyPart(chunk, plain).length;
    }
  } catch (error) {
    if (isAppError(error, 'DATA_KEY_MISSING') || isAppError(error, 'DECRYPTION_FAILED')) return null;
    throw error;
  }
  return bytes;
}

/** Syncs read at once. */
const ROWS_AT_ONCE = 2_000;

/** Checks all syncs. Each page is one statement and so one snapshot. */
export async function verifySyncs(db: Db, on: Verifying): Promise<void> {
  const page = (after: string) => pageOf(db, after);
  for await (const rows of pagesOf(on, '', ROWS_AT_ONCE, page, (row) => row.sync_id)) {
    for (const row of rows) {
      const wrong = (field: string, rule: string) =>
        on.report({ table: 'census_syncs', id: row.sync_id, field, rule });
      if (row.event_id !== null && row.seq === null) wrong('event_id', 'there is no such event');
      if (row.request_id !== null && row.kind !== 'census') wrong('request_id', 'there is no such upload');
      if (row.reprocessed === 0 && row.finished_at !== null && row.requested_at !== row.finished_at) {
        wrong('requested_at', 'is not when its event was applied');
      }
    }
  }
}

function pageOf(db: Db, after: string) {
  return db
    .selectFrom('census_syncs')
    .leftJoin('inbox', 'inbox.event_id', 'census_syncs.event_id')
    .leftJoin('outbox', 'outbox.request_id', 'census_syncs.request_id')
    .select(['sync_id', 'census_syncs.event_id', 'census_syncs.request_id', 'requested_at'])
    .select(['inbox.seq', 'inbox.finished_at', 'inbox.reprocessed', 'outbox.kind'])
    .where('sync_id', '>', after)
    .orderBy('sync_id')
    .limit(ROWS_AT_ONCE)
    .execute();
}
