import type { Db, RosterFactTable } from '../database/tables.ts';

/** All facts of one employee in the order of their positions, of which the newest `limit`. */
export async function rosterHistory(db: Db, employeeId: string, limit: number): Promise<RosterFactTable[]> {
  const newest = await db
    .selectFrom('roster_facts')
    .selectAll()
    .where('employee_id', '=', employeeId)
    .orderBy('position', 'desc')
    .limit(limit)
    .execute();
  return newest.reverse();
}
