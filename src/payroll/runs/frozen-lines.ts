/** The lines of a finalized run, as they were frozen. */
import type { Db } from '../../database/tables.ts';
import type { Line } from '../calculation/line.ts';

export type FrozenEmployee = { employeeId: string; rosterPosition: number | null; lines: Line[] };

const EMPLOYEES_AT_ONCE = 500;

/** In the order of employee ids, page by page, from behind one of them. */
export async function* readFrozenLines(
  db: Db,
  freezeId: string,
  after = '',
): AsyncGenerator<FrozenEmployee[]> {
  for (let last = after; ; ) {
    const rows = await db
      .selectFrom('run_employees')
      .select(['employee_id', 'roster_position', 'lines'])
      .where('freeze_id', '=', freezeId)
      .where('employee_id', '>', last)
      .orderBy('employee_id')
      .limit(EMPLOYEES_AT_ONCE)
      .execute();
    if (rows.length > 0) {
      yield rows.map((row) => ({
        employeeId: row.employee_id,
        rosterPosition: row.roster_position,
        lines: JSON.parse(row.lines) as Line[],
      }));
    }
    if (rows.length < EMPLOYEES_AT_ONCE) return;
    last = rows.at(-1)?.employee_id as string;
    await new Promise(setImmediate);
  }
}
