/** The lines of a run, page by page in the order of employee ids: computed for an open run, as frozen for another one. */
import type { Db } from '../../database/tables.ts';
import { type Line, storedLines } from '../calculation/line.ts';
import { type Basis, resolveBasis } from './basis.ts';
import { computeRun, inputsOf } from './compute.ts';
import { readFrozenLines } from './reads.ts';
import { bodyOf, type StoredRun } from './store.ts';

export type LinesOfEmployee = { employeeId: string; lines: Line[] };

/** The place where a list of lines continues: after an employee, at the ledger position of its first page. */
export type LineCursor = { employeeId: string; position: number };

/**
 * Returns the lines of a run after a cursor and their ledger position: all pages of a list are computed at
 * the position of its first page. Throws RUN_REFUSED if an open run cannot be computed.
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
  const basis = await basisAt(db, stored, cursor?.position ?? null);
  return { position: basis.position, pages: computedPages(db, basis, { after }) };
}

/**
 * Returns the basis of an open run at the position where a list of its lines began; at the newest one if it
 * begins.
 */
async function basisAt(db: Db, stored: StoredRun, position: number | null): Promise<Basis> {
  const basis = await resolveBasis(db, stored.run_id, bodyOf(stored));
  return position === null ? basis : { ...basis, position };
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
 * Returns the next lines of a list after `from`, at most `limit`, and reads no more pages than that takes.
 * `next` continues the list; null if no line is left.
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
 * Returns the lines of one employee as `linesOfRun` does, without computing the other employees. `position`
 * is that of the list's first page. Throws RUN_REFUSED if an open run cannot be computed.
 */
export async function linesOfOne(
  db: Db,
  stored: StoredRun,
  employeeId: string,
  position: number | null,
): Promise<{ position: number; pages: AsyncGenerator<LinesOfEmployee[]> }> {
  if (stored.state !== 'open')
    return { position: stored.position as number, pages: frozenOfOne(db, stored, employeeId) };
  const basis = await basisAt(db, stored, position);
  return { position: basis.position, pages: computedPages(db, basis, { only: [employeeId] }) };
}

async function* frozenOfOne(
  db: Db,
  { freeze_id }: StoredRun,
  employeeId: string,
): AsyncGenerator<LinesOfEmployee[]> {
  const rows = await db
    .selectFrom('run_employees')
    .select(['freeze_id', 'employee_id', 'lines'])
    .where('freeze_id', '=', freeze_id as string)
    .where('employee_id', '=', employeeId)
    .execute();
  yield rows.map((row) => ({ employeeId, lines: storedLines(row) }));
}
