/** Employee sets that need a scan of the whole ledger. Later calls check only employees named since. */

import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import { byBytes } from '../database/text-order.ts';
import { readPosition } from './position.ts';

/** The largest set that is kept. A larger one is scanned each time, which ends early. */
export const FOLLOWED_AT_MOST = 1_000;
/** With this many new positions, a full scan costs no more. */
const POSITIONS_MAX = 5_000;

type Kept = { position: number; employees: readonly string[] };
type Rule = {
  /** The table whose employees may belong to the set. */
  from: 'deduction_employees' | 'roster';
  /** The table whose new rows may add an employee to the set. */
  by: 'deduction_versions' | 'roster_facts';
  /** The SQL condition on an employee of `named`. */
  holds: RawBuilder<SqlBool>;
};

/** Employees with a deduction but without a census row or an employment change. */
export const unmatchedEmployees = follow({
  from: 'deduction_employees',
  by: 'deduction_versions',
  holds: sql`not exists (select 1 from roster where roster.employee_id = named.employee_id)`,
});

/** Employees reported by more than one employer, whether or not they are active there. */
export const sharedEmployees = follow({
  from: 'roster',
  by: 'roster_facts',
  holds: sql`(select count(*) from roster where roster.employee_id = named.employee_id) > 1`,
});

/** A function that returns the first `FOLLOWED_AT_MOST` employees of a set, ordered by id. */
type Followed = (db: Db) => Promise<readonly string[]>;

function follow(rule: Rule): Followed {
  const keptOf = new WeakMap<Db, Kept>();
  return async (db) => {
    // The position is read first, so that employees added during the scan are checked next time.
    const position = await readPosition(db);
    const kept = keptOf.get(db);
    const isNear =
      kept !== undefined && position >= kept.position && position - kept.position <= POSITIONS_MAX;
    const employees = isNear ? await caughtUp(db, rule, kept) : await all(db, rule);
    // A full set may be incomplete.
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

/** Checks the kept employees and those named since. */
async function caughtUp(db: Db, { from, by, holds }: Rule, { position, employees }: Kept): Promise<string[]> {
  // `distinct` would scan an index of all employees.
  const since = await db.selectFrom(by).select('employee_id').where('position', '>', position).execute();
  const candidates = [...new Set([...employees, ...since.map(({ employee_id }) => employee_id)])];
  if (candidates.length === 0) return [];
  const { rows } = await sql<{ employee_id: string }>`
    select distinct employee_id from ${sql.table(from)} as named
    where ${isOneOf(db, 'named.employee_id', candidates)} and ${holds}`.execute(db);
  return rows.map(({ employee_id }) => employee_id).sort(byBytes);
}
