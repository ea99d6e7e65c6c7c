/** The lines of a run, page by page in the order of employee ids: computed for an open run, as frozen for another one. */
import type { Db } from '../../database/tables.ts';
import type { Line } from '../calculation/line.ts';
import { type Basis, resolveBasis } from '../compute/basis.ts';
import { computeRun } from '../compute/compute.ts';
import { frozenLines, type LinesOfEmployee, readFrozenLines } from '../records/frozen-lines.ts';
import { bodyOf, type StoredRun } from '../records/runs.ts';

type LineCursor = { employeeId: string; position: number };

/**
 * Returns the lines of a run, or of one of its employees, after `from`. All pages of a list are computed at the ledger
 * position of its first page. Throws RUN_REFUSED if an open run cannot be computed.
 */
export async function linesOfRun(
  db: Db,
  stored: StoredRun,
  { employeeId, from }: { employeeId?: string | undefined; from?: LineCursor | undefined } = {},
): Promise<{ position: number; pages: AsyncGenerator<LinesOfEmployee[]> }> {
  if (stored.state !== 'open') {
    const freezeId = stored.freeze_id as string;
    const pages =
      employeeId === undefined
        ? readFrozenLines(db, freezeId, from?.employeeId)
        : frozenOfOne(db, freezeId, employeeId);
    return { position: stored.position as number, pages };
  }
  const newest = await resolveBasis(db, stored.run_id, bodyOf(stored));
  const basis = from === undefined ? newest : { ...newest, position: from.position };
  const part = employeeId === undefined ? { after: from?.employeeId } : { only: [employeeId] };
  return { position: basis.position, pages: computedPages(db, basis, part) };
}

/** Computes the lines of a basis page by page, after an employee. `only` limits it to these employees. */
export async function* computedPages(
  db: Db,
  basis: Basis,
  { after, only }: { after?: string | undefined; only?: readonly string[] } = {},
): AsyncGenerator<LinesOfEmployee[]> {
  for await (const page of computeRun(db, basis, { after, only })) {
    yield page.filter(({ lines }) => lines.length > 0);
  }
}

/** Where a page ended: after `given` lines of the employee, at the ledger position of the list. */
type LinePosition = LineCursor & { given: number };

/** Returns at most `limit` lines after `from`, reading no more pages than that takes. `next` is null at the end. */
export async function linesBehind<Shown extends Line>(
  pages: AsyncIterable<{ employeeId: string; lines: Shown[] }[]>,
  from: LinePosition,
  limit: number,
): Promise<{ lines: Shown[]; next: LinePosition | null }> {
  const lines: Shown[] = [];
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

async function* frozenOfOne(db: Db, freezeId: string, employeeId: string): AsyncGenerator<LinesOfEmployee[]> {
  const rows = (await frozenLines(db, [freezeId], [employeeId])).get(employeeId) ?? [];
  yield rows.map(({ lines }) => ({ employeeId, lines: [...lines] }));
}
