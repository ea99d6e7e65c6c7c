import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { ago } from '../checks.ts';
import type { Organization } from '../contract/census.ts';
import { insertRows } from '../database/bulk.ts';
import { forUpdate, type SharedNow } from '../database/engine.ts';
import { isUnavailable } from '../database/errors.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { transact } from '../database/transaction.ts';
import { AppError, codeOf } from '../errors.ts';
import { transactOnLedger } from '../ledger/position.ts';
import { employerSubject, lockSubject } from '../outbox/queue.ts';
import { type Acting, type Actor, record, SYSTEM } from '../security/audit.ts';
import { type Hasher, openHasher } from '../security/hashing.ts';
import { type CensusReport, type CensusRow, checkCensus } from './check.ts';
import { createElsewhereCheck } from './elsewhere.ts';
import { fingerprintEmployee, fingerprintOrganization, ORGANIZATION_ROW } from './fingerprints.ts';
import { createPersonCheck, type Persons } from './persons.ts';
import type { CensusContent } from './reading.ts';
import { updateRoster } from './roster-update.ts';
import { CHUNK_BYTES, chunkPlace, END, packEmployees, packOrganization, type Staging } from './staged.ts';
import { reviveSyncs } from './syncs.ts';

export type StagingResult =
  | { ok: true; censusId: string; employees: number }
  | ({ ok: false } & Omit<CensusReport, 'organization'>);

type StagingOptions = { uploading?: string | null; signal?: AbortSignal | null; actor?: Actor } & Persons;

/**
 * Checks a census and, if it passes, makes it the employer's staged one: its rows are encrypted and written in chunks, and
 * a last transaction makes it current and requests stalled syncs again. Then the roster is updated. A census that breaks
 * the contract leaves nothing stored. `uploading` is the request that fetched it, if any: rows that a limited caller may not name
 * then keep it out of the roster. Otherwise they throw EMPLOYEE_ELSEWHERE. Throws ABANDONED if a clean-up took the staging for
 * abandoned. Nothing is changed then.
 */
export async function stageCensus(
  { db, encryptor, sharedNow }: Staging,
  employerId: string,
  content: CensusContent,
  { uploading = null, signal = null, actor = SYSTEM, limit = null, ...confirmed }: StagingOptions = {},
): Promise<StagingResult> {
  const hasher = await openHasher(db, encryptor);
  const census = { census_id: randomUUID(), employer_id: employerId };
  const { census_id } = census;
  const limited_to = limit && JSON.stringify(limit);
  const empty = { ...census, state: 'staging', employee_count: 0, body_bytes: 0, limited_to } as const;
  const viewer = limit && { employers: limit, today: dayAt(db, await sharedNow(db)) };
  await transact(db, async (trx) => {
    const staged_at = (await sharedNow(trx)).toISOString();
    const begun = { ...empty, fingerprint_key: hasher.keyId, staged_at };
    await trx.insertInto('staged_censuses').values(begun).execute();
    await recordStaging(trx, { actor, now: staged_at }, census, { phase: 'start' });
  });
  const abandon = (failed: string) => abandonStaging({ db, sharedNow }, census, failed, actor);
  let staged: StagingResult;
  try {
    const writer = createChunkWriter({ db, encryptor, sharedNow }, hasher, census);
    const check = await createElsewhereCheck(db, employerId, viewer);
    const persons = createPersonCheck(db, async () => hasher, employerId, { ...confirmed, limit });
    const add = async (row: CensusRow): Promise<void> => {
      await check.add(row);
      await persons.add(row);
      await writer.add(row);
    };
    const { organization, ...report } = await checkCensus(content, add, signal);
    const isValid = report.problemCount === 0 && organization !== null;
    if (isValid) await check.end();
    if (uploading === null) check.refuse(NOTHING_STORED);
    const others = isValid ? await persons.end() : null;
    if (others === null || organization === null) staged = { ok: false, ...report };
    else if (others.problemCount > 0) staged = { ok: false, ...report, ...others };
    else {
      const size = { employee_count: report.employees, body_bytes: await writer.end(organization) };
      await transactOnLedger(db, async (trx) => {
        await check.endLocked(trx, census_id);
        if (uploading === null) check.refuse(NOTHING_STORED);
        const elsewhere = check.employees();
        const row = { ...size, elsewhere: elsewhere && JSON.stringify(elsewhere) };
        await makeCurrent(trx, census, row, { uploading, actor, sharedNow, confirmed });
        await content.through?.noteRead?.(trx, (await sharedNow(trx)).toISOString());
      });
      staged = { ok: true, censusId: census_id, employees: report.employees };
    }
  } catch (error) {
    // This error matters more. If the database is unavailable, a later clean-up removes the rows.
    if (!isUnavailable(error)) await abandon(codeOf(error) || 'INTERNAL').catch(() => {});
    throw error;
  }
  if (!staged.ok) await abandon('CENSUS_REFUSED');
  else await updateRoster({ db, encryptor, sharedNow }, census_id);
  await tidyCensuses(db, sharedNow);
  return staged;
}

const NOTHING_STORED = 'nothing was stored';

type CensusIds = { census_id: string; employer_id: string };

/** Locks a census that is being staged until the transaction ends, and renews its time. Throws ABANDONED. */
async function renewStaging(trx: Trx, censusId: string, sharedNow: SharedNow): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('staged_censuses')
    .set({ staged_at: (await sharedNow(trx)).toISOString() })
    .where('census_id', '=', censusId)
    .where('state', '=', 'staging')
    .executeTakeFirst();
  if (numUpdatedRows === 0n) {
    const why = 'Staging the census took too long, or a clock was changed, so its rows were removed.';
    throw new AppError('ABANDONED', `${why} The previous census is unchanged. Send the census again.`);
  }
}

type MakingCurrent = {
  uploading: string | null;
  actor: Actor;
  sharedNow: SharedNow;
  confirmed: Pick<Persons, 'samePerson' | 'reason'>;
};

async function makeCurrent(
  trx: Trx,
  { census_id, employer_id }: CensusIds,
  row: { employee_count: number; body_bytes: number; elsewhere: string | null },
  { uploading, actor, sharedNow, confirmed }: MakingCurrent,
): Promise<void> {
  await lockSubject(trx, employerSubject(employer_id));
  await renewStaging(trx, census_id, sharedNow);
  // Read after the lock: facts from the previous census are older.
  const now = (await sharedNow(trx)).toISOString();
  await trx
    .updateTable('staged_censuses')
    .set({ state: 'replaced', replaced_at: now })
    .where('employer_id', '=', employer_id)
    .where('state', '=', 'current')
    .execute();
  await trx
    .updateTable('staged_censuses')
    .set({ state: 'current', staged_at: now, ...row })
    .where('census_id', '=', census_id)
    .execute();
  await reviveSyncs(trx, { employerId: employer_id, uploading, now });
  const { samePerson = [], reason = null } = confirmed;
  const isConfirmed = samePerson.length > 0;
  const same = isConfirmed ? { same_person: samePerson } : {};
  const ended = { phase: 'end', employees: row.employee_count, ...same } as const;
  await recordStaging(trx, { actor, now }, { census_id, employer_id }, ended, isConfirmed ? reason : null);
}

type StagingPhase =
  | { phase: 'start' }
  | { phase: 'end'; employees: number; same_person?: readonly string[] }
  | { phase: 'end'; failed: string };

function recordStaging(
  trx: Trx,
  acting: Acting,
  { census_id, employer_id }: CensusIds,
  details: StagingPhase,
  reason: string | null = null,
) {
  const made = {
    action: 'census.stage',
    resource: census_id,
    employer: employer_id,
    details,
    reason,
  } as const;
  return record(trx, acting, made);
}

/** Writes rows in encrypted chunks with their fingerprints. The organization is chunk 0. */
function createChunkWriter(
  { db, encryptor, sharedNow }: Staging,
  hasher: Hasher,
  { census_id, employer_id }: CensusIds,
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
      await renewStaging(trx, census_id, sharedNow);
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
export async function tidyCensuses(db: Db, sharedNow: SharedNow): Promise<number> {
  const leftovers = await db
    .selectFrom('staged_censuses')
    .select('census_id')
    .where(sql<boolean>`state <> 'current'`)
    .where((where) => where.or([where('uploaded_at', 'is', null), where('body_bytes', '>', 0)]))
    .execute();
  let removed = 0;
  for (const { census_id } of leftovers) {
    await transact(db, async (trx) => {
      const now = await sharedNow(trx);
      const unread = {
        state: 'replaced',
        column: 'replaced_at',
        before: ago(now, REPLACED_KEPT_MS),
      } as const;
      const unfinished = {
        state: 'staging',
        column: 'staged_at',
        before: ago(now, STAGING_KEPT_MS),
      } as const;
      for (const { state, column, before } of [unread, unfinished]) {
        const isDue = notCurrent(trx, census_id, state).where(column, '<', before);
        await isDue.set({ state: 'abandoned' }).execute();
      }
    });
    if (await removeContents(db, census_id)) removed += 1;
  }
  return removed;
}

/** Removes a census that is being staged, unless it is current. */
async function abandonStaging(
  { db, sharedNow }: Pick<Staging, 'db' | 'sharedNow'>,
  census: CensusIds,
  failed: string,
  actor: Actor,
): Promise<void> {
  const { census_id } = census;
  await transact(db, async (trx) => {
    const now = (await sharedNow(trx)).toISOString();
    await notCurrent(trx, census_id, 'staging').set({ state: 'abandoned' }).execute();
    await recordStaging(trx, { actor, now }, census, { phase: 'end', failed });
  });
  await removeContents(db, census_id);
}

function notCurrent(trx: Trx, censusId: string, state: 'staging' | 'replaced') {
  return trx.updateTable('staged_censuses').where('census_id', '=', censusId).where('state', '=', state);
}

/** Removes an abandoned census, its row last. The row and fingerprints of the last upload stay. */
async function removeContents(db: Db, censusId: string): Promise<boolean> {
  const chunks = { table: 'census_chunks', key: 'chunk', limit: CHUNKS_AT_ONCE } as const;
  const fingerprints = {
    table: 'census_fingerprints',
    key: 'employee_id',
    limit: FINGERPRINTS_AT_ONCE,
  } as const;
  for (;;) {
    const step = await transact(db, async (trx) => {
      const row = trx.selectFrom('staged_censuses').select(['state', 'uploaded_at']);
      const census = await forUpdate(trx, row.where('census_id', '=', censusId)).executeTakeFirst();
      if (census?.state !== 'abandoned') return 'kept';
      if (await removeSome(trx, chunks, censusId)) return 'more';
      if (census.uploaded_at !== null) {
        const update = trx.updateTable('staged_censuses').set({ body_bytes: 0 });
        await update.where('census_id', '=', censusId).execute();
        return 'removed';
      }
      if (await removeSome(trx, fingerprints, censusId)) return 'more';
      await trx.deleteFrom('staged_censuses').where('census_id', '=', censusId).execute();
      return 'removed';
    });
    if (step !== 'more') return step === 'removed';
  }
}

/** Removes some rows of a census. Returns whether it removed any. */
async function removeSome(
  trx: Trx,
  { table, key, limit }: { table: 'census_chunks' | 'census_fingerprints'; key: string; limit: number },
  censusId: string,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where census_id = ${censusId} and ${sql.ref(key)} in (
      select ${sql.ref(key)} from ${sql.table(table)} where census_id = ${censusId}
      order by ${sql.ref(key)} desc limit ${limit})`.execute(trx);
  return (numAffectedRows ?? 0n) > 0n;
}
