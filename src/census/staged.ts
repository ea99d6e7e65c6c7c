import { sql } from 'kysely';
import type { Db, Trx } from '../database/tables.ts';
import type { Sealer } from '../security/encryption.ts';
import { bodyPart, chunkPlace, END } from './chunks.ts';

/** Reads the staged census: the newest one of an employer that passed the check. */

export type StagedCensus = {
  censusId: string;
  employerId: string;
  stagedAt: string;
  employees: number;
  /** Of the upload body. */
  bodyBytes: number;
};

export async function currentCensus(db: Db | Trx, employerId: string): Promise<StagedCensus | null> {
  const row = await db
    .selectFrom('staged_censuses')
    .select(['census_id', 'employer_id', 'staged_at', 'employees', 'body_bytes'])
    .where('employer_id', '=', employerId)
    .where(sql<boolean>`state = 'current'`)
    .executeTakeFirst();
  if (row === undefined) return null;
  return {
    censusId: row.census_id,
    employerId: row.employer_id,
    stagedAt: row.staged_at,
    employees: row.employees,
    bodyBytes: row.body_bytes,
  };
}

/** The body that is uploaded for an employer, as it passed the check; null when no census is staged. */
export async function readUploadBody(
  db: Db,
  sealer: Sealer,
  employerId: string,
): Promise<{ census: StagedCensus; length: number; chunks: AsyncIterable<Uint8Array> } | null> {
  const census = await currentCensus(db, employerId);
  if (census === null) return null;
  return { census, length: census.bodyBytes, chunks: uploadBody(db, sealer, census.censusId) };
}

/** The bytes of a census's upload body. A chunk that was tidied away, or is missing, ends them early, short of their length. */
export async function* uploadBody(db: Db, sealer: Sealer, censusId: string): AsyncGenerator<Uint8Array> {
  for await (const { chunk, plain } of openChunks(db, sealer, censusId)) yield bodyPart(chunk, plain);
  yield END;
}

/** Each chunk of a census, opened, in order; one in memory at a time. */
export async function* openChunks(
  db: Db,
  sealer: Sealer,
  censusId: string,
): AsyncGenerator<{ chunk: number; plain: Buffer }> {
  for (let chunk = 0; ; chunk += 1) {
    const row = await db
      .selectFrom('census_chunks')
      .select('sealed')
      .where('census_id', '=', censusId)
      .where('chunk', '=', chunk)
      .executeTakeFirst();
    if (row === undefined) return;
    yield { chunk, plain: sealer.open(row.sealed, chunkPlace(censusId, chunk)) };
  }
}
