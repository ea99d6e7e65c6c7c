import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Organization } from '../contract/census.ts';
import { insertMany } from '../database/bulk.ts';
import { isUnavailable } from '../database/errors.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { Problem } from '../errors.ts';
import { employerSubject, lockSubject } from '../outbox/queue.ts';
import type { Encryptor } from '../security/encryption.ts';
import { type Hasher, openHasher } from '../security/hashing.ts';
import { type CensusRow, checkCensus } from './check.ts';
import { chunkPlace, createPacker, END, packOrganization } from './chunks.ts';
import { fingerprintEmployee, fingerprintOrganization, ORGANIZATION_ROW } from './fingerprints.ts';
import type { CensusContent } from './reading.ts';
import { updateRoster } from './roster-update.ts';
import { reviveSyncs } from './syncs.ts';
import { dropCensus, tidyCensuses } from './tidy.ts';

export type Staging = { db: Db; encryptor: Encryptor; now: Clock };

export type Staged =
  | { ok: true; censusId: string; employees: number }
  | { ok: false; employees: number; problemCount: number; problems: Problem[] };

/**
 * Checks a census and, if it passes, makes it the employer's staged one: its rows are encrypted and written
 * in chunks, and a last transaction makes it current. Then the roster is updated, and syncs that waited for a
 * valid census are requested again. A census that breaks the contract leaves nothing stored. `uploading` is
 * the request that fetched it, if any. Throws what the content, the database or the encryptor throws.
 */
export async function stageCensus(
  { db, encryptor, now }: Staging,
  employerId: string,
  content: CensusContent,
  { uploading = null, signal = null }: { uploading?: string | null; signal?: AbortSignal | null } = {},
): Promise<Staged> {
  const hasher = await openHasher(db, encryptor);
  const census: Ids = { censusId: randomUUID(), employerId };
  const { censusId } = census;
  await begin(db, census, hasher.keyId, now());
  let staged: Staged;
  try {
    const writer = createChunkWriter({ db, encryptor, hasher }, census);
    const { organization, ...report } = await checkCensus(content, writer.add, signal);
    if (report.problemCount > 0 || organization === null) staged = { ok: false, ...report };
    else {
      const size = { employee_count: report.employees, body_bytes: await writer.end(organization) };
      await transact(db, (trx) => makeCurrent(trx, census, size, uploading, now));
      staged = { ok: true, censusId, employees: report.employees };
    }
  } catch (error) {
    // This error matters more. If the last commit's response was lost, the census may be current.
    if (!isUnavailable(error)) await dropCensus(db, censusId).catch(() => {});
    throw error;
  }
  if (!staged.ok) await dropCensus(db, censusId);
  else await updateRoster({ db, encryptor, now }, censusId);
  await tidyCensuses(db, now());
  return staged;
}

type Ids = { censusId: string; employerId: string };

async function begin(db: Db, { censusId, employerId }: Ids, hashKey: string, now: Date): Promise<void> {
  const ids = { census_id: censusId, employer_id: employerId, fingerprint_key: hashKey };
  const row = {
    ...ids,
    state: 'staging',
    staged_at: now.toISOString(),
    employee_count: 0,
    body_bytes: 0,
  } as const;
  await transact(db, (trx) => trx.insertInto('staged_censuses').values(row).execute());
}

async function makeCurrent(
  trx: Trx,
  { censusId, employerId }: Ids,
  size: { employee_count: number; body_bytes: number },
  uploading: string | null,
  clock: Clock,
): Promise<void> {
  await lockSubject(trx, employerSubject(employerId));
  // Read after the lock: facts from the previous census are older.
  const now = clock().toISOString();
  await trx
    .updateTable('staged_censuses')
    .set({ state: 'replaced', replaced_at: now })
    .where('employer_id', '=', employerId)
    .where('state', '=', 'current')
    .execute();
  await trx
    .updateTable('staged_censuses')
    .set({ state: 'current', staged_at: now, ...size })
    .where('census_id', '=', censusId)
    .execute();
  await reviveSyncs(trx, { employerId, uploading, now });
}

/** Writes rows in encrypted chunks with their fingerprints. The organization is chunk 0. */
function createChunkWriter(
  { db, encryptor, hasher }: { db: Db; encryptor: Encryptor; hasher: Hasher },
  { censusId, employerId }: Ids,
) {
  const packer = createPacker();
  let fingerprints: [censusId: string, employeeId: string, fields: Buffer][] = [];
  let chunks = 1;
  let bodyBytes = END.length;

  const write = async (chunk: number, plain: Buffer): Promise<void> => {
    const ciphertext = encryptor.encrypt(plain, chunkPlace(censusId, chunk));
    const rows = fingerprints;
    fingerprints = [];
    await transact(db, async (trx) => {
      await trx.insertInto('census_chunks').values({ census_id: censusId, chunk, ciphertext }).execute();
      await insertMany(trx, 'census_fingerprints', ['census_id', 'employee_id', 'field_hashes'], rows);
    });
  };
  const flush = async (): Promise<void> => {
    const packed = packer.take();
    if (packed === null) return;
    bodyBytes += packed.bodyBytes;
    await write(chunks, packed.plain);
    chunks += 1;
  };

  return {
    async add(row: CensusRow): Promise<void> {
      const { employee } = row;
      fingerprints.push([censusId, employee.employee_id, fingerprintEmployee(hasher, employerId, employee)]);
      if (packer.add(row)) await flush();
    },
    /** Returns the size of the whole upload body. */
    async end(organization: Organization): Promise<number> {
      await flush();
      const packed = packOrganization(organization);
      const fields = fingerprintOrganization(hasher, employerId, organization);
      fingerprints.push([censusId, ORGANIZATION_ROW, fields]);
      await write(0, packed);
      return bodyBytes + packed.length;
    },
  };
}
