/**
 * Sets of employees that the whole ledger has to be gone through for, such as those in no census: gone through once,
 * then followed. What came since is on the positions after, so that asking again costs what came in between.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import { readPosition } from '../database/tail.ts';
import { byBytes } from '../database/text-order.ts';

/** Told of one set, and kept: a larger one is gone through at each look, which finds so many soon. */
export const FOLLOWED_AT_MOST = 1_000;
/** Positions since the last look from which on going through all is no dearer. */
const POSITIONS_MAX = 5_000;

type Kept = { position: number; employees: readonly string[] };
type Rule = {
  /** Where employees are named that may belong to the set. */
  from: 'deduction_employees' | 'roster';
  /** What may make another employee belong to it: each of its rows has a position. */
  by: 'deduction_versions' | 'roster_facts';
  /** The condition, as SQL, on an employee of `named`. */
  holds: RawBuilder<SqlBool>;
};

/** Employees whom a deduction names, and no census or employment change. */
export const unmatchedEmployees = follow({
  from: 'deduction_employees',
  by: 'deduction_versions',
  holds: sql`not exists (select 1 from roster where roster.employee_id = named.employee_id)`,
});

/** Employees whom more than one employer has named, whether or not they are active with them. */
export const sharedEmployees = follow({
  from: 'roster',
  by: 'roster_facts',
  holds: sql`(select count(*) from roster where roster.employee_id = named.employee_id) > 1`,
});

/** Answers the set in the order of the ids: the first `FOLLOWED_AT_MOST` of it. */
type Followed = (db: Db) => Promise<readonly string[]>;

function follow(rule: Rule): Followed {
  const keptOf = new WeakMap<Db, Kept>();
  return async (db) => {
    // Before the set: what comes meanwhile is looked at once more the next time.
    const position = await readPosition(db);
    const kept = keptOf.get(db);
    const isNear =
      kept !== undefined && position >= kept.position && position - kept.position <= POSITIONS_MAX;
    const employees = isNear ? await caughtUp(db, rule, kept) : await all(db, rule);
    // A full one may lack some.
    if (employees.length < FOLLOWED_AT_MOST) keptOf.set(db, { position, employees });
    else keptOf.delete(db);
    return employees;
  };
}

async function all(db: Db, { from, holds }: Rule): Promise<string[]> {
  const { rows } = await sql<{ employee_id: string }>`
    select employee_id from (select distinct employee_id from ${sql.table(from)}) as named
    where ${holds} order by employee_id limit ${FOLLOWED_AT_MOST}`.execute(db);
  return rows.map(({ employee_id }) => employee_id);
}

/** Of those who belonged to the set and those who were named since, who belongs to it now. */
async function caughtUp(db: Db, { from, by, holds }: Rule, { position, employees }: Kept): Promise<string[]> {
  // `distinct` would have the engine go through an index of all employees: here there are few.
  const since = await db.selectFrom(by).select('employee_id').where('position', '>', position).execute();
  const candidates = [...new Set([...employees, ...since.map(({ employee_id }) => employee_id)])];
  if (candidates.length === 0) return [];
  const { rows } = await sql<{ employee_id: string }>`
    select distinct employee_id from ${sql.table(from)} as named
    where ${isOneOf(db, 'named.employee_id', candidates)} and ${holds}`.execute(db);
  return rows.map(({ employee_id }) => employee_id).sort(byBytes);
}
