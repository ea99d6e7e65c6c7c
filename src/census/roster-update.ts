import { sql } from 'kysely';
import { piecesOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { transactOnLedger } from '../ledger/position.ts';
import { employeesOf, FACTS_AT_ONCE, type FactSource, type NewFact, recordFacts } from '../ledger/roster.ts';
import { changedNames, storeNames } from '../names/names.ts';
import { employerSubject, lockSubject } from '../outbox/queue.ts';
import type { CensusRow } from './check.ts';
import { openChunks, rowsOf, type Staging } from './staged.ts';

/** Per transaction, about 100 bytes each. */
const NAMES_AT_ONCE = 1_000;

/** Finishes roster updates that were interrupted, at start. Returns how many. */
export async function resumeRosterUpdates(update: Staging): Promise<number> {
  const rest = await update.db
    .selectFrom('staged_censuses')
    .select('census_id')
    .where(sql<boolean>`state = 'current' and roster_updated_at is null and elsewhere is null`)
    .orderBy('staged_at')
    .execute();
  for (const { census_id } of rest) await updateRoster(update, census_id);
  return rest.length;
}

/**
 * Records a staged census in the roster, in small transactions: a fact for each employee who changed or is missing from
 * the census, and the names that changed. Later facts stay in effect. An interrupted update can start again, and repeats nothing; it stops if the
 * census is replaced. A census that names employees of another employer waits for its release.
 */
export async function updateRoster({ db, encryptor, sharedNow }: Staging, censusId: string): Promise<void> {
  const census = await findCurrent(db, censusId);
  if (census === undefined) return;
  const { employer_id, staged_at } = census;
  const source: FactSource = { source: 'census', source_id: censusId, asOf: staged_at };
  const record = (facts: readonly NewFact[]): Promise<boolean> =>
    transactOnLedger(db, async (trx) => {
      await lockSubject(trx, employerSubject(employer_id));
      if ((await findCurrent(trx, censusId)) === undefined) return false;
      const now = (await sharedNow(trx)).toISOString();
      await recordFacts(trx, facts, source, now);
      return true;
    });

  const present = new Set<string>();
  for await (const { chunk, plain } of openChunks(db, encryptor, censusId)) {
    if (chunk === 0) continue;
    const rows = rowsOf(plain);
    const facts = rows.map((row) => factOf(employer_id, row));
    for (const fact of facts) present.add(fact.employee_id);
    for (const piece of piecesOf(facts, FACTS_AT_ONCE)) {
      if (!(await record(piece))) return;
    }
    const employees = rows.map(({ employee }) => ({ ...employee, employer_id }));
    const names = await changedNames(db, encryptor, employees, staged_at);
    for (const piece of piecesOf(names, NAMES_AT_ONCE)) {
      await transact(db, async (trx) => {
        if ((await findCurrent(trx, censusId)) !== undefined) await storeNames(trx, piece);
      });
    }
  }
  let after = '';
  for (;;) {
    const employees = await employeesOf(db, employer_id, { after, limit: FACTS_AT_ONCE });
    const absent = employees
      .filter((employee_id) => !present.has(employee_id))
      .map((employee_id): NewFact => ({ employee_id, employer_id, absent: 1 }));
    if (absent.length > 0 && !(await record(absent))) return;
    if (employees.length < FACTS_AT_ONCE) break;
    after = employees.at(-1) as string;
  }
  await transact(db, async (trx) => {
    const roster_updated_at = (await sharedNow(trx)).toISOString();
    const update = trx.updateTable('staged_censuses').set({ roster_updated_at });
    return update.where('census_id', '=', censusId).execute();
  });
}

function findCurrent(db: Db | Trx, censusId: string) {
  return db
    .selectFrom('staged_censuses')
    .select(['employer_id', 'staged_at'])
    .where('census_id', '=', censusId)
    .where('state', '=', 'current')
    .where('elsewhere', 'is', null)
    .executeTakeFirst();
}

function factOf(employerId: string, { employee, payGroup, effectiveOn }: CensusRow): NewFact {
  return {
    employee_id: employee.employee_id,
    employer_id: employerId,
    hire_date: employee.hire_date,
    termination_date: employee.termination_date ?? null,
    employment_status: employee.employment_status,
    pay_frequency: employee.pay_frequency ?? null,
    pay_group: payGroup,
    effective_on: effectiveOn,
    absent: 0,
  };
}
