/** The release of a held census by a person. */
import type { SharedNow } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { transactOnLedger } from '../ledger/position.ts';
import { employerSubject, lockSubject } from '../outbox/queue.ts';
import { type Acting, record } from '../security/audit.ts';
import type { Encryptor } from '../security/encryption.ts';
import { openHasher } from '../security/hashing.ts';
import { createElsewhereCheck } from './elsewhere.ts';
import { createPersonCheck } from './persons.ts';
import { updateRoster } from './roster-update.ts';
import { currentCensus, openChunks, rowsOf, type StagedCensus } from './staged.ts';
import { readHolds } from './sync-list.ts';
import { reviveSyncs } from './syncs.ts';

type Releasing = { db: Db; openKeys: () => Encryptor; sharedNow: SharedNow };

/**
 * `reviewed`: the census that the person saw, if the caller knows it. `freshSince`: an older census is not uploaded. `limit`: the
 * employers of a limited caller.
 */
type Release = {
  reason: string;
  reviewed?: string | undefined;
  freshSince: string;
  limit?: readonly string[] | null;
} & Acting;

/**
 * Releases the census of a held sync for all syncs that are held because of it, and requests them again. A census that is held
 * because of employees of another employer then counts as its employer's. Throws NOT_FOUND or CONFLICT, EMPLOYEE_ELSEWHERE if the
 * caller does not see that employer, and CENSUS_REFUSED for rows that have the id of another person at another employer.
 */
export async function releaseSync(parts: Releasing, syncId: string, release: Release): Promise<void> {
  const { db, sharedNow } = parts;
  const { reason, reviewed, freshSince, limit = null, now } = release;
  const held = await heldSync(db, syncId);
  if (held === null) throw notFound('census sync');
  const { employer_id: employer, held_for, census } = held;
  const isClaim = held.holds.some(({ cause }) => cause === 'employees-elsewhere');
  const claim = isClaim && census !== null ? await checkClaim(parts, census, release) : null;
  if (claim !== null && claim.persons.problemCount > 0)
    throw new AppError(
      'CENSUS_REFUSED',
      'The census has IDs of other persons, so it stays held. Correct it and request a sync, or stage it with same_person and a reason.',
      claim.persons,
    );
  await transactOnLedger(db, async (trx) => {
    await lockSubject(trx, employerSubject(employer));
    const sync = await heldSync(trx, syncId);
    if (sync?.state !== 'held' || sync.held_census_id === null)
      throw conflict('The census sync is not held.');
    const { census_id, staged_at } = sync.census ?? { census_id: null, staged_at: '' };
    const isSame = census_id === sync.held_census_id && sync.held_for === held_for;
    if (!isSame || (reviewed !== undefined && reviewed !== census_id))
      throw conflict('Another census is held now. Review it, and release that one.');
    if (staged_at < freshSince)
      throw conflict(
        'The held census is older than CENSUS_MAX_AGE. Stage a new one, or request a sync that fetches it again.',
      );
    await claim?.check.endLocked(trx, census_id);
    claim?.check.refuse(STAYS_HELD);
    const counted = claim === null ? {} : { elsewhere: null, limited_to: limit && JSON.stringify(limit) };
    const update = trx.updateTable('staged_censuses').set({ released_at: now, ...counted });
    await update.where('census_id', '=', census_id).execute();
    await reviveSyncs(trx, { employerId: employer, uploading: null, now }, ['held']);
    const details = { census_id, held_for: held.holds.map(({ cause, count }) => ({ cause, count })) };
    await record(trx, release, {
      action: 'census-sync.release',
      resource: syncId,
      employer,
      details,
      reason,
    });
  });
  if (claim !== null && census !== null)
    await updateRoster({ db, encryptor: claim.encryptor, sharedNow }, census.census_id);
}

const STAYS_HELD = 'the census stays held';

async function heldSync(on: Db | Trx, syncId: string) {
  const sync = await on
    .selectFrom('census_syncs')
    .select(['employer_id', 'state', 'held_census_id', 'held_for'])
    .where('sync_id', '=', syncId)
    .executeTakeFirst();
  if (sync === undefined) return null;
  const holds = sync.held_for === null ? [] : readHolds(sync.held_for, syncId);
  return { ...sync, holds, census: await currentCensus(on, sync.employer_id) };
}

/** Checks whom the census names as staging by this caller would, who must see the employers of all its employees. */
async function checkClaim(
  { db, openKeys }: Releasing,
  { census_id, employer_id }: StagedCensus,
  { limit = null, now }: Release,
) {
  const encryptor = openKeys();
  const hasher = await openHasher(db, encryptor);
  const check = await createElsewhereCheck(
    db,
    employer_id,
    limit && { employers: limit, today: dayAt(db, now) },
  );
  const compared = createPersonCheck(db, async () => hasher, employer_id, { limit });
  for await (const { chunk, plain } of openChunks(db, encryptor, census_id)) {
    if (chunk === 0) continue;
    for (const row of rowsOf(plain)) {
      await check.add(row);
      await compared.add(row);
    }
  }
  await check.end();
  check.refuse(STAYS_HELD);
  return { check, encryptor, persons: await compared.end() };
}
