import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { ago } from '../checks.ts';
import type { Clock } from '../clock.ts';
import type { Organization } from '../contract/census.ts';
import { insertRows } from '../database/bulk.ts';
import { lockNames } from '../database/engine.ts';
import { isUnavailable } from '../database/errors.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { employerSubject, lockSubject } from '../outbox/queue.ts';
import type { Encryptor } from '../security/encryption.ts';
import { type Hasher, openHasher } from '../security/hashing.ts';
import { type CensusReport, type CensusRow, checkCensus } from './check.ts';
import { fingerprintEmployee, fingerprintOrganization, ORGANIZATION_ROW } from './fingerprints.ts';
import type { CensusContent } from './reading.ts';
import { updateRoster } from './roster-update.ts';
import { CHUNK_BYTES, chunkPlace, END, packEmployees, packOrganization, type Staging } from './staged.ts';
import { reviveSyncs } from './syncs.ts';

export type Staged =
  | { ok: true; censusId: string; employees: number }
  | ({ ok: false } & Omit<CensusReport, 'organization'>);

/**
 * Checks a census and, if it passes, makes it the employer's staged one: its rows are encrypted and written in chunks, and
 * a last transaction makes it current and requests stalled syncs again. Then the roster is updated. A census that breaks
 * the contract leaves nothing stored. `uploading` is the request that fetched it, if any.
 */
export async function stageCensus(
  { db, encryptor, now }: Staging,
  employerId: string,
  content: CensusContent,
  { uploading = null, signal = null }: { uploading?: string | null; signal?: AbortSignal | null } = {},
): Promise<Staged> {
  const hasher = await openHasher(db, encryptor);
  const census = { census_id: randomUUID(), employer_id: employerId };
  const { census_id } = census;
  const empty = { ...census, state: 'staging', employee_count: 0, body_bytes: 0 } as const;
  const begun = { ...empty, fingerprint_key: hasher.keyId, staged_at: now().toISOString() };
  await transact(db, (trx) => trx.insertInto('staged_censuses').values(begun).execute());
  let staged: Staged;
  try {
    const writer = createChunkWriter({ db, encryptor, hasher }, census);
    const { organization, ...report } = await checkCensus(content, writer.add, signal);
    if (report.problemCount > 0 || organization === null) staged = { ok: false, ...report };
    else {
      const size = { employee_count: report.employees, body_bytes: await writer.end(organization) };
      await transact(db, (trx) => makeCurrent(trx, census, size, uploading, now));
      staged = { ok: true, censusId: census_id, employees: report.employees };
    }
  } catch (error) {
    // This error matters more. If the last commit's response was lost, the census may be current.
    if (!isUnavailable(error)) await dropCensus(db, census_id).catch(() => {});
    throw error;
  }
  if (!staged.ok) await dropCensus(db, census_id);
  else await updateRoster({ db, encryptor, now }, census_id);
  await tidyCensuses(db, now());
  return staged;
}

type Ids = { census_id: string; employer_id: string };

async function makeCurrent(
  trx: Trx,
  { census_id, employer_id }: Ids,
  size: { employee_count: number; body_bytes: number },
  uploading: string | null,
  clock: Clock,
): Promise<void> {
  await lockSubject(trx, employerSubject(employer_id));
  // Read after the lock: facts from the previous census are older.
  const now = clock().toISOString();
  await trx
    .updateTable('staged_censuses')
    .set({ state: 'replaced', replaced_at: now })
    .where('employer_id', '=', employer_id)
    .where('state', '=', 'current')
    .execute();
  await trx
    .updateTable('staged_censuses')
    .set({ state: 'current', staged_at: now, ...size })
    .where('census_id', '=', census_id)
    .execute();
  await reviveSyncs(trx, { employerId: employer_id, uploading, now });
}

/** Writes rows in encrypted chunks with their fingerprints. The organization is chunk 0. */
function createChunkWriter(
  { db, encryptor, hasher }: { db: Db; encryptor: Encryptor; hasher: Hasher },
  { census_id, employer_id }: Ids,
) {
  let rows: CensusRow[] = [];
  let texts: string[] = [];
  let textBytes = 0;
  let fingerprints: { census_id: string; employee_id: string; field_hashes: Buffer }[] = [];
  let chunks = 1;
  let bodyBytes = END.length;

  const write = async (chunk: number, plain: Buffer): Promise<void> => {
    const ciphertext = encryptor.encrypt(plain, chunkPlace(census_id, chunk));
    await transact(db, async (trx) => {
      await trx.insertInto('census_chunks').values({ census_id, chunk, ciphertext }).execute();
      await insertRows(trx, 'census_fingerprints', fingerprints);
    });
    fingerprints = [];
  };
  const flush = async (): Promise<void> => {
    if (rows.length === 0) return;
    const packed = packEmployees(rows, texts, chunks === 1);
    bodyBytes += packed.bodyBytes;
    await write(chunks, packed.plain);
    chunks += 1;
    rows = [];
    texts = [];
    textBytes = 0;
  };

  return {
    async add(row: CensusRow): Promise<void> {
      const { employee } = row;
      const { employee_id } = employee;
      const field_hashes = fingerprintEmployee(hasher, employer_id, employee);
      fingerprints.push({ census_id, employee_id, field_hashes });
      const text = JSON.stringify(employee);
      rows.push(row);
      texts.push(text);
      textBytes += text.length;
      if (textBytes >= CHUNK_BYTES) await flush();
    },
    /** Returns the size of the upload body. */
    async end(organization: Organization): Promise<number> {
      await flush();
      const packed = packOrganization(organization);
      const field_hashes = fingerprintOrganization(hasher, employer_id, organization);
      fingerprints.push({ census_id, employee_id: ORGANIZATION_ROW, field_hashes });
      await write(0, packed);
      return bodyBytes + packed.length;
    },
  };
}

/** Chunks per transaction: about 2 MiB, 10 of the 50 ms of the write lock. */
const CHUNKS_AT_ONCE = 8;
/** An upload may still be reading a census that was replaced, for as long as an upload may take. */
const REPLACED_KEPT_MS = 20 * 60 * 1000;
/** Staging that never ended because its process died. The slowest source times out after minutes. */
const STAGING_KEPT_MS = 6 * 60 * 60 * 1000;
/** Fingerprints per transaction, about 200 bytes each. */
const FINGERPRINTS_AT_ONCE = 1_000;

/** Removes replaced and unfinished censuses, and returns how many. The last upload's fingerprints stay. */
export async function tidyCensuses(db: Db, now: Date): Promise<number> {
  const leftovers = await db
    .selectFrom('staged_censuses')
    .select('census_id')
    .where(sql<boolean>`state <> 'current'`)
    .where((where) =>
      where.or([
        where('replaced_at', '<', ago(now, REPLACED_KEPT_MS)),
        where.and([where('state', '=', 'staging'), where('staged_at', '<', ago(now, STAGING_KEPT_MS))]),
      ]),
    )
    .where((where) => where.or([where('uploaded_at', 'is', null), where('body_bytes', '>', 0)]))
    .execute();
  for (const { census_id } of leftovers) await dropCensus(db, census_id);
  return leftovers.length;
}

/** Removes a census that is not current, its row last. The row and fingerprints of the last upload stay. */
async function dropCensus(db: Db, censusId: string): Promise<void> {
  await dropInSteps(db, 'census_chunks', 'chunk', censusId, CHUNKS_AT_ONCE);
  // Marked as removed, so that it cannot become the last upload.
  const row = await transact(db, (trx) =>
    trx
      .updateTable('staged_censuses')
      .set({ body_bytes: 0 })
      .where('census_id', '=', censusId)
      .where(sql<boolean>`state <> 'current'`)
      .returning('uploaded_at')
      .executeTakeFirst(),
  );
  if (row === undefined || row.uploaded_at !== null) return;
  await dropInSteps(db, 'census_fingerprints', 'employee_id', censusId, FINGERPRINTS_AT_ONCE);
  await transact(db, (trx) => trx.deleteFrom('staged_censuses').where('census_id', '=', censusId).execute());
}

/** Removes the rows of a census, at most `limit` in one transaction. */
async function dropInSteps(
  db: Db,
  table: 'census_chunks' | 'census_fingerprints',
  key: 'chunk' | 'employee_id',
  censusId: string,
  limit: number,
): Promise<void> {
  for (let removed = limit; removed === limit; ) {
    removed = await transact(db, async (trx) => {
      // One process at a time: another would find no chunks left and remove the row too early.
      await lockNames(trx, ['tidy']);
      const { numAffectedRows } = await sql`
        delete from ${sql.table(table)} where census_id = ${censusId} and ${sql.ref(key)} in (
          select ${sql.ref(key)} from ${sql.table(table)} where census_id = ${censusId}
          order by ${sql.ref(key)} desc limit ${limit})`.execute(trx);
      return Number(numAffectedRows ?? 0);
    });
  }
}
