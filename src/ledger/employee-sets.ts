/** Sets of employees that need a scan of the whole ledger. They are kept, so that later reports read only what was added. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import { byBytes } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { readPosition } from './position.ts';

/** Maximum employees kept of a set. A larger set is scanned for each report, and the scan ends early. */
export const KEPT_MAX = 1_000;
/** With this many new positions, a full scan costs no more. */
const POSITIONS_MAX = 5_000;

type EmployeeSet = {
  /** The table whose employees may belong to the set. */
  from: 'deduction_versions' | 'roster';
  /** The table whose new rows may add an employee to the set. */
  by: 'deduction_versions' | 'roster_facts';
  holds: RawBuilder<SqlBool>;
};

/** Employees reported by more than one employer, whether or not they are active there. */
const SHARED: EmployeeSet = {
  from: 'roster',
  by: 'roster_facts',
  holds: sql`(select count(*) from roster where roster.employee_id = named.employee_id) > 1`,
};

/** Employees with a deduction but without a census row or an employment change. */
const UNMATCHED: EmployeeSet = {
  from: 'deduction_versions',
  by: 'deduction_versions',
  holds: sql`not exists (select 1 from roster where roster.employee_id = named.employee_id)`,
};

export type EmployeeSets = ReturnType<typeof createEmployeeSets>;

/** Creates the sets of a database. Each function returns at most `KEPT_MAX` employees, by id. */
export function createEmployeeSets(db: Db) {
  return {
    shared: keptSet(db, SHARED),
    /** Continues `shared` after an id. Nothing of it is kept. */
    sharedAfter: (id: string | undefined) => scan(db, SHARED, id),
    unmatched: keptSet(db, UNMATCHED),
  };
}

/** Returns a function that reads a set. Its later calls check only the employees named since. */
function keptSet(db: Db, set: EmployeeSet): () => Promise<readonly string[]> {
  let kept: { position: number; employees: readonly string[] } | null = null;
  return async () => {
    // The position is read first, so that employees added during the scan are checked next time.
    const position = await readPosition(db);
    const passed = position - (kept?.position ?? Number.POSITIVE_INFINITY);
    const isNear = passed >= 0 && passed <= POSITIONS_MAX;
    const employees = kept !== null && isNear ? await caughtUp(db, set, kept) : await scan(db, set);
    // A full set may be incomplete.
    kept = employees.length < KEPT_MAX ? { position, employees } : null;
    return employees;
  };
}

async function scan(db: Db, { from, holds }: EmployeeSet, after = ''): Promise<readonly string[]> {
  const { rows } = await sql<{ employee_id: string }>`
    select employee_id from (select distinct employee_id from ${sql.table(from)} where employee_id > ${after}) as named
    where ${holds} order by employee_id limit ${KEPT_MAX}`.execute(db);
  return rows.map(({ employee_id }) => employee_id);
}

async function caughtUp(
  db: Db,
  { from, by, holds }: EmployeeSet,
  kept: { position: number; employees: readonly string[] },
): Promise<string[]> {
  // `distinct` would scan an index of all employees.
  const since = await db.selectFrom(by).select('employee_id').where('position', '>', kept.position).execute();
  const candidates = [...new Set([...kept.employees, ...since.map(({ employee_id }) => employee_id)])];
  if (candidates.length === 0) return [];
  const { rows } = await sql<{ employee_id: string }>`
    select distinct employee_id from ${sql.table(from)} as named
    where ${isOneOf(db, 'named.employee_id', candidates)} and ${holds}`.execute(db);
  return rows.map(({ employee_id }) => employee_id).sort(byBytes);
}
