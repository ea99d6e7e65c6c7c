/** The lines of a run, page by page in the order of employee ids: computed for an open run, as frozen for another one. */
import type { Db } from '../../database/tables.ts';
import type { Line } from '../calculation/line.ts';
import { type Basis, resolveBasis } from './basis.ts';
import { computeRun, inputsOf } from './compute.ts';
import { readFrozenLines } from './reads.ts';
import { bodyOf, type StoredRun } from './store.ts';

export type LinesOfEmployee = { employeeId: string; lines: Line[] };

/** The place where a list of lines continues: after an employee, at the ledger position of its first page. */
export type LineCursor = { employeeId: string; position: number };

/**
 * The lines of a run from behind a cursor, and the position that they are computed at: all pages of a list stand at
 * that of its first, whatever comes in meanwhile. Throws `RunRefused` when an open run can't be computed.
 */
export async function linesOfRun(
  db: Db,
  stored: StoredRun,
  cursor: LineCursor | null,
): Promise<{ position: number; pages: AsyncGenerator<LinesOfEmployee[]> }> {
  const after = cursor?.employeeId ?? '';
  if (stored.state !== 'open') {
    return {
      position: stored.position as number,
      pages: readFrozenLines(db, stored.freeze_id as string, after),
    };
  }
  const now = await resolveBasis(db, stored.run_id, bodyOf(stored));
  const basis = { ...now, position: cursor?.position ?? now.position };
  return { position: basis.position, pages: computedPages(db, basis, { after }) };
}

/** Computes the lines of a basis page by page, after an employee. `only` limits it to these employees. */
export async function* computedPages(
  db: Db,
  basis: Basis,
  { after = '', only = null }: { after?: string; only?: readonly string[] | null | undefined } = {},
): AsyncGenerator<LinesOfEmployee[]> {
  for await (const page of computeRun(db, await inputsOf(db, basis), { after, only })) {
    yield page.filter(({ lines }) => lines.length > 0);
  }
}

/** The end of a page: after an employee, `given` lines into the next one, at the ledger position of the list. */
export type LinePosition = LineCursor & { given: number };

/**
 * The next lines of a list that goes on behind `from`, at most `limit`. `next` continues it; null when no line is left.
 * Reads no further than it must.
 */
export async function linesBehind(
  pages: AsyncIterable<LinesOfEmployee[]>,
  from: LinePosition,
  limit: number,
): Promise<{ lines: Line[]; next: LinePosition | null }> {
  const lines: Line[] = [];
  let at = from;
  for await (const page of pages) {
    for (const employee of page) {
      for (const line of employee.lines.slice(at.given)) {
        if (lines.length === limit) return { lines, next: at };
        lines.push(line);
        at = { ...at, given: at.given + 1 };
      }
      at = { ...at, employeeId: employee.employeeId, given: 0 };
    }
  }
  return { lines, next: null };
}

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
