/** Erases the census of an employer that has left, and what would fetch it again. */
import { sql } from 'kysely';
import type { SharedNow } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { conflict, counted } from '../errors.ts';
import { employmentsOf, isActiveFrom } from '../ledger/employment.ts';
import { readPosition, transactOnLedger } from '../ledger/position.ts';
import { employeesOf, employeesReportedAfter, rosterOf } from '../ledger/roster.ts';
import { eraseNames } from '../names/names.ts';
import { eraseResponses } from '../outbox/erase.ts';
import { employerSubject, lockSubject } from '../outbox/queue.ts';
import { type Actor, record } from '../security/audit.ts';
import { tidyCensuses } from './staging.ts';
import { dismissOfEmployer } from './syncs.ts';

const EMPLOYEES_AT_ONCE = 500;

type Erasure = { employerId: string; actor: Actor; reason: string };
export type CensusErased = { censuses: number; syncs: number };

/**
 * Erases each census of an employer with its fingerprints, the names of its employees and the service's responses to its
 * uploads, and dismisses the syncs that need another one. `more` erases what other modules keep of it. Throws CONFLICT while the employer has active employees.
 */
export async function eraseCensus(
  { db, sharedNow }: { db: Db; sharedNow: SharedNow },
  { employerId, actor, reason }: Erasure,
  more: (trx: Trx) => Promise<void>,
): Promise<CensusErased> {
  const today = dayAt(db, await sharedNow(db));
  // Almost all is read before the lock, which keeps events from being applied.
  const read = await readPosition(db);
  for (let after: string | undefined = ''; after !== undefined; ) {
    const ids = await employeesOf(db, employerId, { after, limit: EMPLOYEES_AT_ONCE });
    await assertNoneActive(db, employerId, ids, today);
    after = ids.at(-1);
  }
  const erased = await transactOnLedger(db, async (trx) => {
    await assertNoneActive(trx, employerId, await employeesReportedAfter(trx, employerId, read), today);
    await lockSubject(trx, employerSubject(employerId));
    const now = (await sharedNow(trx)).toISOString();
    const acting = { actor, now };
    const { numUpdatedRows } = await trx
      .updateTable('staged_censuses')
      .set({ state: 'abandoned', uploaded_at: null })
      .where('employer_id', '=', employerId)
      .where(sql<boolean>`(state <> 'abandoned' or uploaded_at is not null)`)
      .executeTakeFirst();
    const syncs = await dismissOfEmployer(trx, acting, employerId, reason);
    await eraseNames(trx, employerId);
    await eraseResponses(trx, employerId);
    await more(trx);
    const details = { censuses: Number(numUpdatedRows), syncs };
    const made = { action: 'census.erase', resource: employerId, employer: employerId } as const;
    await record(trx, acting, { ...made, details, reason });
    return details;
  });
  // The rows themselves, in small transactions. A start removes what an interruption leaves.
  await tidyCensuses(db, sharedNow);
  return erased;
}

async function assertNoneActive(
  on: Db | Trx,
  employerId: string,
  ids: readonly string[],
  today: string,
): Promise<void> {
  const active = [...(await rosterOf(on, ids))].filter(([, reports]) =>
    employmentsOf(reports).some(
      (employment) => employment.employer_id === employerId && isActiveFrom(employment, today),
    ),
  );
  if (active.length === 0) return;
  const [[first] = ['']] = active;
  const others = active.length === 1 ? '' : `, and ${counted(active.length - 1, 'other')}`;
  throw conflict(
    `The employer has active employees (${first}${others}), and payroll and the benefits service need its census. Report their terminations first.`,
  );
}
