import { sql } from 'kysely';
import { insertMany, isOneOf } from '../database/bulk.ts';
import type { Db, RosterFactTable, Trx } from '../database/tables.ts';
import type { RosterFact } from './employer-of.ts';
import { FOLLOWED_AT_MOST, sharedEmployees } from './followed.ts';
import { lockLedger, moveLedger } from './position.ts';

/** Roster facts: appended on the ledger's positions, each a whole row, and only when something changed. */

/** Facts in one transaction: some 10 ms of the 50 that the private side may hold the write lock. */
export const FACTS_AT_ONCE = 250;

export { employerOf } from './employer-of.ts';
export type { RosterFact };

/** What is to be known of an employment from now on. */
export type NewFact = Omit<RosterFact, 'position'>;

/** What says so: a census or an employment change, by its id. `asOf`: the instant that it speaks of, where that is not its own place. */
export type FactSource = Pick<RosterFactTable, 'source' | 'source_id'> & { asOf?: string };

/** What a fact says of an employment. */
const EMPLOYMENT = [
  'hire_date',
  'termination_date',
  'employment_status',
  'pay_frequency',
  'pay_group',
  'absent',
] as const satisfies readonly (keyof NewFact)[];

const FIELDS = ['employee_id', 'employer_id', ...EMPLOYMENT] as const;

/** A fact, and what says so. */
export type Taught = { readonly fact: NewFact; readonly source: FactSource };

/** As `recordTaught`, for facts of one source. */
export function recordFacts(
  trx: Trx,
  facts: readonly NewFact[],
  source: FactSource,
  now: string,
): Promise<number> {
  return recordTaught(
    trx,
    facts.map((fact) => ({ fact, source })),
    now,
  );
}

/**
 * Writes those facts that differ from the newest one of the same employee and employer, in the order given; answers
 * how many. One that was recorded after the instant that the source speaks of stands. At most `FACTS_AT_ONCE`.
 */
export async function recordTaught(trx: Trx, taught: readonly Taught[], now: string): Promise<number> {
  const before = await lockLedger(trx);
  const facts = taught.map(({ fact }) => fact);
  const known = new Map<string, NewFact & { recorded_at: string }>();
  for (const row of await newestOf(trx, facts)) known.set(keyOf(row), row);
  const changed = taught.filter(({ fact, source }) => {
    const row = known.get(keyOf(fact));
    if (row !== undefined && source.asOf !== undefined && row.recorded_at > source.asOf) return false;
    if (row !== undefined && FIELDS.every((field) => row[field] === fact[field])) return false;
    known.set(keyOf(fact), { ...fact, recorded_at: now });
    return true;
  });
  if (changed.length === 0) return 0;
  const rows = changed.map(({ fact, source }, index) => [
    before + index + 1,
    ...FIELDS.map((field) => fact[field]),
    source.source,
    source.source_id,
    now,
  ]);
  await insertMany(trx, 'roster_facts', ['position', ...FIELDS, 'source', 'source_id', 'recorded_at'], rows);
  const newest = new Map(
    changed.map(({ fact }, index) => [keyOf(fact), { ...fact, at: before + index + 1 }]),
  );
  await insertMany(
    trx,
    'roster',
    ['employee_id', 'employer_id', 'position'],
    [...newest.values()].map(({ employee_id, employer_id, at }) => [employee_id, employer_id, at]),
    'on conflict (employee_id, employer_id) do update set position = excluded.position',
  );
  await moveLedger(trx, before + changed.length);
  return changed.length;
}

/**
 * What is known of each of the employees: the newest fact with every employer. With `knownAt` (an instant in
 * milliseconds UTC), the newest that was recorded by then.
 */
export async function rosterOf(
  db: Db | Trx,
  employeeIds: readonly string[],
  knownAt?: string,
): Promise<Map<string, RosterFact[]>> {
  if (employeeIds.length === 0) return new Map();
  const facts =
    knownAt === undefined
      ? await newestFacts(db)
          .where(isOneOf(db, 'roster.employee_id', employeeIds))
          .execute()
      : newestOfEach(await factsInOrder(db, employeeIds).where('recorded_at', '<=', knownAt).execute());
  return Map.groupBy(facts, (fact) => fact.employee_id);
}

/** All that was ever known of the employees, in the order of its positions. */
function factsInOrder(db: Db | Trx, employeeIds: readonly string[]) {
  return db
    .selectFrom('roster_facts')
    .select(['position', ...FIELDS])
    .where(isOneOf(db, 'employee_id', employeeIds))
    .orderBy('position');
}

/** What is known of each of the employees at a position of the ledger: the newest fact with every employer. */
export async function rosterAt(
  db: Db | Trx,
  employeeIds: readonly string[],
  position: number,
): Promise<Map<string, RosterFact[]>> {
  const facts = await factsInOrder(db, employeeIds).where('position', '<=', position).execute();
  return Map.groupBy(newestOfEach(facts), (fact) => fact.employee_id);
}

/** Of facts in the order of their positions, the last one of each employee and employer. */
function newestOfEach(facts: readonly RosterFact[]): RosterFact[] {
  return [...new Map(facts.map((fact) => [keyOf(fact), fact])).values()];
}

/** An employer's newest facts in the order of employee ids, `limit` of them after an id. */
export function rosterOfEmployer(
  db: Db | Trx,
  employerId: string,
  { after, limit }: { after: string; limit: number },
): Promise<RosterFact[]> {
  return newestFacts(db)
    .where('roster.employer_id', '=', employerId)
    .where('roster.employee_id', '>', after)
    .orderBy('roster.employee_id')
    .limit(limit)
    .execute();
}

/**
 * Employees active with two or more employers on a day, in the order of their ids, `limit` of them after an id.
 * The condition is `isActive` as SQL.
 */
export async function activeTwice(
  db: Db,
  day: string,
  { after, limit }: { after: string; limit: number },
): Promise<{ employee_id: string; employers: number }[]> {
  const shared = await sharedEmployees(db);
  if (shared.length === 0) return [];
  const isFollowed = shared.length < FOLLOWED_AT_MOST;
  return db
    .selectFrom('roster')
    .innerJoin('roster_facts', 'roster_facts.position', 'roster.position')
    .select(['roster.employee_id', sql<number>`count(*)`.as('employers')])
    .where('roster.employee_id', '>', after)
    .where('roster.employee_id', 'in', (all) =>
      // Too many to be followed are found in one way through the index.
      isFollowed
        ? sql<string>`(${sql.join(shared)})`
        : all
            .selectFrom('roster')
            .select('employee_id')
            .groupBy('employee_id')
            .having(sql<boolean>`count(*) > 1`),
    )
    .where('absent', '=', 0)
    .where((where) => where.or([where('hire_date', 'is', null), where('hire_date', '<=', day)]))
    .where((where) =>
      where.or([
        where('termination_date', 'is', null),
        where('termination_date', '>=', day),
        where('hire_date', '>', where.ref('termination_date')),
      ]),
    )
    .groupBy('roster.employee_id')
    .having(sql<boolean>`count(*) > 1`)
    .orderBy('roster.employee_id')
    .limit(limit)
    .execute();
}

/** The newest facts of the same employees with any employer that the facts name. */
async function newestOf(
  trx: Trx,
  facts: readonly NewFact[],
): Promise<(RosterFact & { recorded_at: string })[]> {
  if (facts.length === 0) return [];
  const employers = new Set(facts.map((fact) => fact.employer_id));
  return newestFacts(trx)
    .select('recorded_at')
    .where(
      isOneOf(
        trx,
        'roster.employee_id',
        facts.map((fact) => fact.employee_id),
      ),
    )
    .where(isOneOf(trx, 'roster.employer_id', [...employers]))
    .execute();
}

function newestFacts(db: Db | Trx) {
  return db
    .selectFrom('roster')
    .innerJoin('roster_facts', 'roster_facts.position', 'roster.position')
    .select(['roster.employee_id', 'roster.employer_id', 'roster.position', ...EMPLOYMENT]);
}

/** JSON keeps the two ids apart whatever characters they hold. */
function keyOf(row: { employee_id: string; employer_id: string }): string {
  return JSON.stringify([row.employee_id, row.employer_id]);
}
