import type { Db } from '../../database/tables.ts';

/** Where an employer shows itself: employees, a census that was asked for, or what payroll said of it. */
const TABLES = ['roster', 'census_syncs', 'pay_schedules', 'payroll_codes', 'payroll_policies'] as const;

/** Whether anything at all is known of an employer. A mistyped id would otherwise make a run of nobody. */
export async function isKnownEmployer(db: Db, employerId: string): Promise<boolean> {
  for (const table of TABLES) {
    const row = await db
      .selectFrom(table)
      .select('employer_id')
      .where('employer_id', '=', employerId)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}
