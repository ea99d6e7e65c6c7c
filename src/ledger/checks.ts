/** The readiness checks of the roster and of its deductions. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type Check, type EmployerQuestion, FOUND_AT_MOST, fail } from '../checks.ts';
import { isOneOf, piecesOf } from '../database/bulk.ts';
import { byBytes } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { employmentsOf, isActive } from './employment.ts';
import { readPosition } from './position.ts';
import { employeesKnownAt, hasDeductions, rosterOf } from './roster.ts';

export const EMPLOYED_TWICE: Check<Db> = {
  id: 'employees-with-two-employers',
  title: 'Employees are active with two employers',
  ask: async (db, { now, employerId }) => {
    const employees = await activeTwice(db, now.toISOString().slice(0, 10), FOUND_AT_MOST);
    if (employerId === undefined || employees.length === 0) return employees.map(fail);
    const ofEmployer = await employeesKnownAt(db, employerId, employees);
    return employees.filter((id) => ofEmployer.has(id)).map(fail);
  },
  advice:
    'These employees are active with two employers, and the sidecar does not guess. Report the termination at the previous employer.',
  passed: 'No employee is active with two employers.',
};

export const DEDUCTIONS_UNMATCHED: Check<Db> = {
  id: 'deductions-unmatched',
  title: 'Deductions of employees in no census',
  // A warning: deductions may arrive before the census that names their employee. An employer sees their number.
  ask: async (db, { employerId }) => {
    const employees = await unmatchedEmployees(db);
    const count = employees.length;
    if (employerId === undefined || count === 0)
      return employees.map((example) => ({ example, result: 'warn' }));
    return [{ example: `${count} of no known employer`, result: 'warn', count }];
  },
  advice: 'These employees are in no census, so their deductions belong to no employer. Stage the census.',
  passed: 'Every deduction belongs to an employee in the roster.',
};

export const LEDGER_EMPTY: Check<Db, EmployerQuestion> = {
  id: 'ledger-empty',
  title: 'No employee of this employer has ever had a deduction',
  ask: async (db, { employerId }) => ((await hasDeductions(db, employerId)) ? [] : [fail(employerId)]),
  advice:
    'No employee of this employer has ever had a deduction. Check the employer ID, or import the current deductions.',
  passed: 'This employer has deductions.',
};

const EMPLOYEES_AT_ONCE = 200;

/** Returns the first `limit` employees, by id, who are active with two or more employers on a day. */
export async function activeTwice(db: Db, day: string, limit: number): Promise<string[]> {
  const found: string[] = [];
  let shared = await sharedEmployees(db);
  for (;;) {
    for (const ids of piecesOf(shared, EMPLOYEES_AT_ONCE)) {
      const roster = await rosterOf(db, ids);
      for (const id of ids) {
        const active = employmentsOf(roster.get(id) ?? []).filter((one) => isActive(one, day));
        if (active.length > 1) found.push(id);
      }
      if (found.length >= limit) return found.slice(0, limit);
      await new Promise(setImmediate);
    }
    if (shared.length < FOLLOWED_AT_MOST) return found;
    shared = await scan(db, SHARED, shared.at(-1));
  }
}

/** The largest set of employees that is kept. A larger one is scanned each time, which ends early. */
export const FOLLOWED_AT_MOST = 1_000;
/** With this many new positions, a full scan costs no more. */
const POSITIONS_MAX = 5_000;

/** A set of employees that needs a scan of the whole ledger. */
type EmployeeSet = {
  /** The table whose employees may belong to the set. */
  from: 'deduction_employees' | 'roster';
  /** The table whose new rows may add an employee to the set. */
  by: 'deduction_versions' | 'roster_facts';
  holds: RawBuilder<SqlBool>;
};

type Kept = { position: number; employees: readonly string[] };

/** Employees reported by more than one employer, whether or not they are active there. */
const SHARED: EmployeeSet = {
  from: 'roster',
  by: 'roster_facts',
  holds: sql`(select count(*) from roster where roster.employee_id = named.employee_id) > 1`,
};
export const sharedEmployees = follow(SHARED);

/** Employees with a deduction but without a census row or an employment change. */
export const unmatchedEmployees = follow({
  from: 'deduction_employees',
  by: 'deduction_versions',
  holds: sql`not exists (select 1 from roster where roster.employee_id = named.employee_id)`,
});

/** Returns a function that returns the first employees of a set, by id. Later calls check only those named since. */
function follow(set: EmployeeSet): (db: Db) => Promise<readonly string[]> {
  const keptOf = new WeakMap<Db, Kept>();
  return async (db) => {
    // The position is read first, so that employees added during the scan are checked next time.
    const position = await readPosition(db);
    const kept = keptOf.get(db);
    const isNear =
      kept !== undefined && position >= kept.position && position - kept.position <= POSITIONS_MAX;
    const employees = isNear ? await caughtUp(db, set, kept) : await scan(db, set);
    // A full set may be incomplete.
    if (employees.length < FOLLOWED_AT_MOST) keptOf.set(db, { position, employees });
    else keptOf.delete(db);
    return employees;
  };
}

async function scan(db: Db, { from, holds }: EmployeeSet, after = ''): Promise<readonly string[]> {
  const { rows } = await sql<{ employee_id: string }>`
    select employee_id from (select distinct employee_id from ${sql.table(from)} where employee_id > ${after}) as named
    where ${holds} order by employee_id limit ${FOLLOWED_AT_MOST}`.execute(db);
  return rows.map(({ employee_id }) => employee_id);
}

async function caughtUp(db: Db, { from, by, holds }: EmployeeSet, kept: Kept): Promise<string[]> {
  // `distinct` would scan an index of all employees.
  const since = await db.selectFrom(by).select('employee_id').where('position', '>', kept.position).execute();
  const candidates = [...new Set([...kept.employees, ...since.map(({ employee_id }) => employee_id)])];
  if (candidates.length === 0) return [];
  const { rows } = await sql<{ employee_id: string }>`
    select distinct employee_id from ${sql.table(from)} as named
    where ${isOneOf(db, 'named.employee_id', candidates)} and ${holds}`.execute(db);
  return rows.map(({ employee_id }) => employee_id).sort(byBytes);
}
