/** The payroll settings of several employers at once: of all if `employers` is null. */
import { sql } from 'kysely';
import { isOneOfOrAny } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import { parseSchedules, type Schedule } from './schedules.ts';

type Employers = readonly string[] | null;

type VersionedTable = 'approval_settings' | 'pay_schedules' | 'payroll_codes';

/** Returns the table and the condition of a query for the latest version of each employer. More conditions may follow. */
function latestOf(db: Db, table: VersionedTable, employers: Employers) {
  return sql`${sql.table(table)} as latest where ${isOneOfOrAny(db, 'employer_id', employers)}
    and version = (select max(version) from ${sql.table(table)} where employer_id = latest.employer_id)`;
}

/** Returns the pay schedules of each employer that has set any, which may be an empty list. */
export async function schedulesByEmployer(db: Db, employers: Employers): Promise<Map<string, Schedule[]>> {
  const { rows } = await sql<{ employer_id: string; schedules: string }>`
    select employer_id, schedules from ${latestOf(db, 'pay_schedules', employers)}`.execute(db);
  return new Map(
    rows.map(({ employer_id, schedules }) => [employer_id, parseSchedules(schedules, employer_id)]),
  );
}

/** Returns the employers that have a payroll code now. */
export async function employersWithCodes(db: Db, employers: Employers): Promise<Set<string>> {
  const { rows } = await sql<{ employer_id: string }>`
    select employer_id from ${latestOf(db, 'payroll_codes', employers)} and codes <> '[]'`.execute(db);
  return new Set(rows.map(({ employer_id }) => employer_id));
}

/** Returns the employers that require a second approval now. */
export async function employersWithApproval(db: Db, employers: Employers): Promise<Set<string>> {
  const { rows } = await sql<{ employer_id: string }>`
    select employer_id from ${latestOf(db, 'approval_settings', employers)} and required = 1`.execute(db);
  return new Set(rows.map(({ employer_id }) => employer_id));
}

/** Returns the employers with a payroll policy. */
export async function employersWithPolicy(db: Db, employers: Employers): Promise<Set<string>> {
  const rows = await db
    .selectFrom('payroll_policies')
    .select('employer_id')
    .distinct()
    .where(isOneOfOrAny(db, 'employer_id', employers))
    .execute();
  return new Set(rows.map(({ employer_id }) => employer_id));
}
