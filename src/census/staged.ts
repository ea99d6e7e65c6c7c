/**
 * The staged census, an employer's newest one that passed the check, stored in chunks. The upload body is chunk 0 (the
 * organization), the employees of chunks 1, 2, … and `END`. A chunk of employees starts with an extra line, a JSON array
 * with payroll's own data of each.
 */
import { type NotNull, sql } from 'kysely';
import Type from 'typebox';
import type { Organization } from '../contract/census.ts';
import type { Employee } from '../contract/employee.ts';
import { employersIn, isOneOfOrAny } from '../database/bulk.ts';
import { forUpdate, type SharedNow } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { isAppError } from '../errors.ts';
import { type PageRequest, pagesBy } from '../formats/cursor.ts';
import { lastRecordsOf } from '../security/audit.ts';
import type { EncryptedColumn } from '../security/encrypted-columns.ts';
import type { Encryptor, Place, StoredValue } from '../security/encryption.ts';
import type { CensusRow } from './check.ts';

/** Body bytes per chunk: encrypted, stored and sent in a few milliseconds. A census of 50 MB has 200. */
export const CHUNK_BYTES = 256 * 1024;
export const END = Buffer.from(']}');

export function chunkPlace(censusId: string, chunk: number): Place {
  return { table: 'census_chunks', row: `${censusId}/${chunk}`, column: 'ciphertext' };
}

/** For key rotation: about 5 MiB at once. */
export const ENCRYPTED_CHUNKS: EncryptedColumn = {
  table: 'census_chunks',
  column: 'ciphertext',
  also: [],
  placeOf: ({ census_id, chunk }) => chunkPlace(String(census_id), Number(chunk)),
  rowsAtOnce: 20,
};

export function packOrganization(organization: Organization): Buffer {
  return Buffer.from(`{"organization":${JSON.stringify(organization)},"employees":[`);
}

/** Returns the organization of a decrypted chunk 0. */
export function organizationOf(plain: Buffer): Organization {
  return JSON.parse(`${plain.toString('utf8')}${END}`).organization;
}

/** An employee's pay group, or the pay group and the effective date. */
type PayrollData = string | null | [payGroup: string | null, effectiveOn: string];

/** Returns the chunk of these employees and its bytes of the body. `texts` are the employees as JSON. */
export function packEmployees(rows: readonly CensusRow[], texts: readonly string[], isFirst: boolean) {
  const payrollData = rows.map(
    ({ payGroup, effectiveOn }): PayrollData => (effectiveOn === null ? payGroup : [payGroup, effectiveOn]),
  );
  const part = Buffer.from((isFirst ? '' : ',') + texts.join(','));
  return {
    plain: Buffer.concat([Buffer.from(`${JSON.stringify(payrollData)}\n`), part]),
    bodyBytes: part.length,
  };
}

/** Returns the rows of a decrypted chunk other than 0. */
export function rowsOf(plain: Buffer): CensusRow[] {
  const end = plain.indexOf('\n');
  // They were checked before they were stored, and decrypting them proves that they are the same.
  const payrollData: PayrollData[] = JSON.parse(plain.toString('utf8', 0, end));
  const employees: Employee[] = JSON.parse(`[${plain.toString('utf8', end + 1).replace(/^,/, '')}]`);
  return employees.map((employee, index) => {
    const data = payrollData[index] ?? null;
    const [payGroup, effectiveOn] = Array.isArray(data) ? data : [data, null];
    return { employee, payGroup, effectiveOn };
  });
}

export type Staging = { db: Db; encryptor: Encryptor; sharedNow: SharedNow };

export type StagedCensus = NonNullable<Awaited<ReturnType<typeof currentCensus>>>;

/** Returns an employer's staged census, or null. `body_bytes` is the size of its upload body. */
export async function currentCensus(db: Db | Trx, employerId: string) {
  const census = await db
    .selectFrom('staged_censuses')
    .select(['census_id', 'employer_id', 'staged_at', 'employee_count as employees', 'body_bytes'])
    .select(['released_at', 'limited_to', 'elsewhere'])
    .where('employer_id', '=', employerId)
    .where(sql<boolean>`state = 'current'`)
    .executeTakeFirst();
  return census ?? null;
}

/** How much the clocks of two machines may differ. A census from further in the future has no age. */
const CLOCK_SKEW_MS = 5 * 60_000;

/** Reports whether a census may be uploaded. `maxAgeMs`: CENSUS_MAX_AGE. */
export function isFresh(
  { staged_at }: Pick<StagedCensus, 'staged_at'>,
  now: Date,
  maxAgeMs: number,
): boolean {
  const ageMs = now.getTime() - Date.parse(staged_at);
  return ageMs <= maxAgeMs && ageMs >= -CLOCK_SKEW_MS;
}

/** Reports whether a census that is kept of the employer was fetched from the source: the sidecar staged it itself. */
export async function wasFetched(db: Db, employerId: string): Promise<boolean> {
  const kept = await db
    .selectFrom('staged_censuses')
    .select('census_id')
    .where('employer_id', '=', employerId)
    .where('state', 'in', ['current', 'replaced'])
    .execute();
  for (const { census_id } of kept) {
    const staging = (await lastRecordsOf(db, census_id, ['census.stage'])).get('census.stage');
    if (staging?.by.kind === 'system') return true;
  }
  return false;
}

/** Returns the employers with a staged census. `employers`: only these; null for all. */
export function employersWithCensus(db: Db | Trx, employers: readonly string[] | null): Promise<Set<string>> {
  return employersIn(db, 'staged_censuses', employers, sql`state = 'current'`);
}

/** Yields the upload body. A chunk that is missing or was removed ends it early, short of its length. */
export async function* uploadBody(db: Db, encryptor: Encryptor, censusId: string): AsyncGenerator<Buffer> {
  for await (const chunk of openChunks(db, encryptor, censusId)) yield bodyPart(chunk);
  yield END;
}

/** Returns the legal name in each current census that can be read, by employer. `employers`: only of these; null for all. */
export async function legalNames(
  db: Db,
  encryptor: Encryptor,
  employers: readonly string[] | null,
): Promise<Map<string, string>> {
  const stored = await storedOrganizations(db, employers);
  return new Map(
    stored.flatMap(({ employer_id, encrypted, place }) => {
      try {
        return [[employer_id, organizationOf(encryptor.decrypt(encrypted, place)).legal_business_name]];
      } catch (error) {
        if (!isAppError(error, 'DATA_KEY_MISSING', 'DECRYPTION_FAILED')) throw error;
        return [];
      }
    }),
  );
}

/** Returns the legal name in an employer's staged census, or null if there is none that can be read. */
export async function legalNameOf(db: Db, encryptor: Encryptor, employerId: string): Promise<string | null> {
  return (await legalNames(db, encryptor, [employerId])).get(employerId) ?? null;
}

type Chunk = { chunk: number; plain: Buffer };

/** Returns the part of the upload body that a decrypted chunk has. */
export function bodyPart({ chunk, plain }: Chunk): Buffer {
  return chunk === 0 ? plain : plain.subarray(plain.indexOf('\n') + 1);
}

/** Yields each chunk of a census in order, decrypted. */
export async function* openChunks(db: Db, encryptor: Encryptor, censusId: string): AsyncGenerator<Chunk> {
  for (let chunk = 0; ; chunk += 1) {
    const row = await db
      .selectFrom('census_chunks')
      .select('ciphertext')
      .where('census_id', '=', censusId)
      .where('chunk', '=', chunk)
      .executeTakeFirst();
    if (row === undefined) return;
    yield { chunk, plain: encryptor.decrypt(row.ciphertext, chunkPlace(censusId, chunk)) };
  }
}

/** Records that the service accepted this census. The caller has locked the employer's name. */
export async function recordUpload(trx: Trx, employerId: string, censusId: string, now: string) {
  const row = trx.selectFrom('staged_censuses').select('state').where('census_id', '=', censusId);
  const uploaded = await forUpdate(trx, row).executeTakeFirst();
  // One that is being removed loses its fingerprints: the previous upload stays, so that the next census is compared.
  if (uploaded === undefined || uploaded.state === 'abandoned') return;
  const censuses = trx.updateTable('staged_censuses');
  await censuses
    .set({ uploaded_at: null })
    .where('employer_id', '=', employerId)
    .where('uploaded_at', 'is not', null)
    .execute();
  await censuses.set({ uploaded_at: now }).where('census_id', '=', censusId).execute();
}

/** Returns the query of the fingerprints of all current censuses. */
export function currentFingerprints(on: Db | Trx) {
  return on
    .selectFrom('staged_censuses')
    .innerJoin('census_fingerprints', 'census_fingerprints.census_id', 'staged_censuses.census_id')
    .where(sql<boolean>`state = 'current'`);
}

export type LastUpload = NonNullable<Awaited<ReturnType<typeof lastUpload>>>;

/** Returns the employer's last uploaded census, which a newer one is compared with, or null before the first upload. */
export async function lastUpload(db: Db, employerId: string) {
  const upload = await db
    .selectFrom('staged_censuses')
    .select(['census_id', 'uploaded_at', 'employee_count as employees', 'fingerprint_key'])
    .where('employer_id', '=', employerId)
    .where('uploaded_at', 'is not', null)
    .$narrowType<{ uploaded_at: NotNull }>()
    .executeTakeFirst();
  return upload ?? null;
}

const censusPage = pagesBy('censuses', { 'staged.employer_id': Type.String() });

/** Returns a page of staged censuses and their last uploads, by employer id. `employers`: only of these. */
export async function listStagedCensuses(
  db: Db,
  { employerId, employers = null }: { employerId?: string | undefined; employers?: readonly string[] | null },
  request: PageRequest,
) {
  let query = db
    .selectFrom('staged_censuses as staged')
    .leftJoin('staged_censuses as taken', (join) =>
      join.onRef('taken.employer_id', '=', 'staged.employer_id').on('taken.uploaded_at', 'is not', null),
    )
    .select(['staged.census_id as id', 'staged.employer_id', 'staged.employee_count as employees'])
    .select(['staged.staged_at', 'taken.census_id', 'taken.employee_count as uploaded', 'taken.uploaded_at'])
    // A literal, because SQLite does not use a partial index for a bound value.
    .where(sql<boolean>`staged.state = 'current'`);
  if (employerId !== undefined) query = query.where('staged.employer_id', '=', employerId);
  if (employers !== null) query = query.where('staged.employer_id', 'in', employers);
  const page = await censusPage(query, request);
  const data = page.data.map(({ census_id, uploaded, uploaded_at, ...staged }) => ({
    ...staged,
    last_upload:
      census_id === null || uploaded === null || uploaded_at === null
        ? null
        : { census_id, employees: uploaded, uploaded_at },
  }));
  return { ...page, data };
}

/** Returns the encrypted organization of each current census: one small chunk. `employers`: only of these; null for all. */
export async function storedOrganizations(
  db: Db,
  employers: readonly string[] | null = null,
): Promise<(StoredValue & { employer_id: string })[]> {
  const rows = await db
    .selectFrom('staged_censuses')
    .innerJoin('census_chunks', 'census_chunks.census_id', 'staged_censuses.census_id')
    .select(['employer_id', 'census_chunks.census_id', 'ciphertext'])
    .where('state', '=', sql.lit('current'))
    .where('chunk', '=', 0)
    .where(isOneOfOrAny(db, 'employer_id', employers))
    .execute();
  return rows.map(({ employer_id, census_id, ciphertext }) => ({
    employer_id,
    encrypted: ciphertext,
    place: chunkPlace(census_id, 0),
  }));
}
