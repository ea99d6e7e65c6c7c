/** The payroll settings of several employers at once: of all if `employers` is null. */
import { sql } from 'kysely';
import { employersIn, isOneOfOrAny } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import { parseSchedules, type Schedule } from './schedules.ts';

type Employers = readonly string[] | null;

type VersionedTable = 'approval_settings' | 'pay_schedules' | 'payroll_codes';

/** Returns the condition that a row is the latest version of its employer. */
function isLatest(table: VersionedTable) {
  const [employer, version] = [sql.ref(`${table}.employer_id`), sql.ref(`${table}.version`)];
  return sql`${version} = (
    select max(version) from ${sql.table(table)} as other where other.employer_id = ${employer})`;
}

/** Returns the pay schedules of each employer that has set any, which may be an empty list. */
export async function schedulesByEmployer(db: Db, employers: Employers): Promise<Map<string, Schedule[]>> {
  const { rows } = await sql<{ employer_id: string; schedules: string }>`
    select employer_id, schedules from pay_schedules
    where ${isOneOfOrAny(db, 'employer_id', employers)} and ${isLatest('pay_schedules')}`.execute(db);
  return new Map(
    rows.map(({ employer_id, schedules }) => [employer_id, parseSchedules(schedules, employer_id)]),
  );
}

/** Returns the employers that have a payroll code now. */
export function employersWithCodes(db: Db, employers: Employers): Promise<Set<string>> {
  return employersIn(db, 'payroll_codes', employers, sql`${isLatest('payroll_codes')} and codes <> '[]'`);
}

/** Returns the employers that require a second approval now. */
export function employersWithApproval(db: Db, employers: Employers): Promise<Set<string>> {
  const requires = sql`${isLatest('approval_settings')} and required = 1`;
  return employersIn(db, 'approval_settings', employers, requires);
}

/** Returns the employers with a payroll policy. */
export function employersWithPolicy(db: Db, employers: Employers): Promise<Set<string>> {
  return employersIn(db, 'payroll_policies', employers);
}
