/** The lines of coverage of an employer. */
import type { Db } from '../database/tables.ts';

/** Returns the lines of coverage of the deductions that employees of the employer have and that end on or after `today`, sorted. */
export async function linesInUse(db: Db, employerId: string, today: string): Promise<string[]> {
  const rows = await db
    .selectFrom('roster')
    .innerJoin('deduction_employees', 'deduction_employees.employee_id', 'roster.employee_id')
    .innerJoin('deductions', (join) =>
      join
        .onRef('deductions.deduction_id', '=', 'deduction_employees.deduction_id')
        .onRef('deductions.employee_id', '=', 'roster.employee_id'),
    )
    .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.position')
    .select('deduction_versions.line_of_coverage')
    .distinct()
    .where('roster.employer_id', '=', employerId)
    .where((eb) =>
      eb.or([eb('deduction_versions.ends_on', 'is', null), eb('deduction_versions.ends_on', '>=', today)]),
    )
    .execute();
  return rows.map(({ line_of_coverage }) => line_of_coverage).sort();
}
