import type { Db } from '../../database/tables.ts';
import type { Line } from '../calculation/line.ts';
import { resolveBasis } from './basis.ts';
import { computedPages, type LinesOfEmployee } from './line-pages.ts';
import { bodyOf, type StoredRun } from './store.ts';

/**
 * The lines that one employee has in a run, as `linesOfRun` answers those of all: with what it costs to compute one.
 * `position` is where a list of them began. Throws `RunRefused` when an open run can't be computed.
 */
export async function linesOfOne(
  db: Db,
  stored: StoredRun,
  employeeId: string,
  position: number | null,
): Promise<{ position: number; pages: AsyncGenerator<LinesOfEmployee[]> }> {
  if (stored.state !== 'open')
    return { position: stored.position as number, pages: frozenOfOne(db, stored, employeeId) };
  const now = await resolveBasis(db, stored.run_id, bodyOf(stored));
  const basis = { ...now, position: position ?? now.position };
  return {
    position: basis.position,
    pages: computedPages(db, basis, { only: [employeeId] }),
  };
}

async function* frozenOfOne(
  db: Db,
  { freeze_id }: StoredRun,
  employeeId: string,
): AsyncGenerator<LinesOfEmployee[]> {
  const rows = await db
    .selectFrom('run_employees')
    .select('lines')
    .where('freeze_id', '=', freeze_id as string)
    .where('employee_id', '=', employeeId)
    .execute();
  yield rows.map(({ lines }) => ({ employeeId, lines: JSON.parse(lines) as Line[] }));
}
