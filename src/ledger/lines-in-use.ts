/** The lines of coverage of an employer. */
import { sql } from 'kysely';
import type { Db } from '../database/tables.ts';
import { currentEmployers } from './roster.ts';

/**
 * Returns the lines of coverage of the deductions that employees of the employer have and that end on or after `today`,
 * sorted. Employees who moved to another employer do not count.
 */
export async function linesInUse(db: Db, employerId: string, today: string): Promise<string[]> {
  const rows = await db
    .selectFrom('roster')
    .innerJoin('deduction_versions', 'deduction_versions.employee_id', 'roster.employee_id')
    .innerJoin('deductions', (join) =>
      join
        .onRef('deductions.deduction_id', '=', 'deduction_versions.deduction_id')
        .onRef('deductions.position', '=', 'deduction_versions.position'),
    )
    .select('deduction_versions.line_of_coverage')
    // Null for nearly all employees, so the roster is read for the few with several employers only.
    .select(
      sql<string | null>`case when exists (select 1 from roster as another
        where another.employee_id = roster.employee_id and another.employer_id <> roster.employer_id)
        then roster.employee_id end`.as('shared_employee'),
    )
    .distinct()
    .where('roster.employer_id', '=', employerId)
    .where((eb) =>
      eb.or([eb('deduction_versions.ends_on', 'is', null), eb('deduction_versions.ends_on', '>=', today)]),
    )
    .execute();
  const shared = [...new Set(rows.flatMap(({ shared_employee }) => shared_employee ?? []))];
  const employers = await currentEmployers(db, shared, today);
  const used = rows.filter(
    ({ shared_employee }) =>
      shared_employee === null || employers.get(shared_employee)?.includes(employerId) === true,
  );
  return [...new Set(used.map(({ line_of_coverage }) => line_of_coverage))].sort();
}
