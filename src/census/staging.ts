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

export type Staging = {
  db: Db;
  encryptor: Encryptor;
  now: Clock;
};

export type Staged =
  | { ok: true; censusId: string; employees: number }
  | { ok: false; employees: number; problemCount: number; problems: Problem[] };

/**
 * Checks a census and, if it passes, makes it the employer's staged one: its rows are encrypted and written
 * in chunks, each in a small transaction, and a last transaction makes it current. Then the roster is
 * updated. Syncs that waited for a valid census are requested again. A census that breaks the contract leaves
 * nothing stored.
 *
 * `uploading` is the request that fetched it, if any. Throws what the content, the database or the encryptor
 * throws.
 */
export async function stageCensus(
  { db, encryptor, now }: Staging,
  employerId: string,
  content: CensusContent,
  { uploading = null, signal = null }: { uploading?: string | null; signal?: AbortSignal | null } = {},
): Promise<Staged> {
  const censusId = randomUUID();
  await begin(db, censusId, employerId, now());
  let staged: Staged;
  try {
    staged = await write({ db, encryptor, now }, { censusId, employerId, uploading }, content, signal);
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

async function write(
  { db, encryptor, now }: Staging,
  ids: { censusId: string; employerId: string; uploading: string | null },
  content: CensusContent,
  signal: AbortSignal | null,
): Promise<Staged> {
  const { censusId, employerId, uploading } = ids;
  const hasher = await openHasher(db, encryptor);
  const writer = createChunkWriter({ db, encryptor, hasher }, ids);
  const report = await checkCensus(content, writer.add, signal);
  const { employees, problemCount, problems, organization } = report;
  if (problemCount > 0 || organization === null) return { ok: false, employees, problemCount, problems };
  const bodyBytes = await writer.end(organization);
  const census = { censusId, employerId, employees, bodyBytes, fingerprintKey: hasher.keyId };
  await transact(db, (trx) => makeCurrent(trx, census, uploading, now));
  return { ok: true, censusId, employees };
}

function begin(db: Db, censusId: string, employerId: string, now: Date): Promise<void> {
  return transact(db, async (trx) => {
    await trx
      .insertInto('staged_censuses')
      .values({
        census_id: censusId,
        employer_id: employerId,
        state: 'staging',
        staged_at: now.toISOString(),
        employee_count: 0,
        body_bytes: 0,
      })
      .execute();
  });
}

async function makeCurrent(
  trx: Trx,
  census: {
    censusId: string;
    employerId: string;
    employees: number;
    bodyBytes: number;
    fingerprintKey: string;
  },
  uploading: string | null,
  clock: Clock,
): Promise<void> {
  await lockSubject(trx, employerSubject(census.employerId));
  // Read after the lock: facts from the previous census are older.
  const now = clock().toISOString();
  await trx
    .updateTable('staged_censuses')
    .set({ state: 'replaced', replaced_at: now })
    .where('employer_id', '=', census.employerId)
    .where('state', '=', 'current')
    .execute();
  await trx
    .updateTable('staged_censuses')
    .set({
      state: 'current',
      staged_at: now,
      employee_count: census.employees,
      body_bytes: census.bodyBytes,
      fingerprint_key: census.fingerprintKey,
    })
    .where('census_id', '=', census.censusId)
    .execute();
  await reviveSyncs(trx, { employerId: census.employerId, uploading, now });
}

/** Writes rows in encrypted chunks with their fingerprints. The organization is chunk 0. */
function createChunkWriter(
  { db, encryptor, hasher }: { db: Db; encryptor: Encryptor; hasher: Hasher },
  { censusId, employerId }: { censusId: string; employerId: string },
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
      fingerprints.push([
        censusId,
        ORGANIZATION_ROW,
        fingerprintOrganization(hasher, employerId, organization),
      ]);
      await write(0, packed);
      return bodyBytes + packed.length;
    },
  };
}
