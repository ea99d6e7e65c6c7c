/** The lines of a run, page by page in the order of employee ids: computed for an open run, as frozen for another one. */
import type { Db } from '../../database/tables.ts';
import { type LineRecord, lineRecord } from '../calculation/line.ts';
import { resolveBasis } from '../compute/basis.ts';
import { type Computation, computationOf } from '../compute/computation.ts';
import { computeRun } from '../compute/compute.ts';
import {
  frozenLines,
  type LinesOfEmployee,
  readFrozenLines,
  storedRecords,
} from '../records/frozen-lines.ts';
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
        ? readFrozenLines(db, freezeId, from?.employeeId ?? '', storedRecords)
        : frozenPageOf(db, freezeId, employeeId);
    return { position: stored.position as number, pages };
  }
  const newest = await resolveBasis(db, stored.run_id, bodyOf(stored));
  const basis = from === undefined ? newest : { ...newest, position: from.position };
  const only = employeeId === undefined ? null : [employeeId];
  const computation = await computationOf(db, stored.run_id, basis, only);
  const after = employeeId === undefined ? from?.employeeId : undefined;
  return { position: basis.position, pages: computedPages(db, computation, after) };
}

/** Computes the lines of a run page by page, after an employee. */
export async function* computedPages(
  db: Db,
  computation: Computation,
  after?: string,
): AsyncGenerator<LinesOfEmployee[]> {
  for await (const page of computeRun(db, computation, after === undefined ? {} : { after })) {
    const withLines = page.filter(({ lines }) => lines.length > 0);
    yield withLines.map(({ employee: { employeeId }, lines }) => ({
      employeeId,
      lines: lines.map(lineRecord),
    }));
  }
}

/** Where a page ended: after `given` lines of the employee, at the ledger position of the list. */
type LinePosition = LineCursor & { given: number };

/** Returns at most `limit` lines after `from`, reading no more pages than that takes. `next` is null at the end. */
export async function linesAfter<Shown extends LineRecord>(
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

async function* frozenPageOf(
  db: Db,
  freezeId: string,
  employeeId: string,
): AsyncGenerator<LinesOfEmployee[]> {
  const rows = (await frozenLines(db, [freezeId], [employeeId], storedRecords)).get(employeeId) ?? [];
  yield rows.map(({ lines }) => ({ employeeId, lines: [...lines] }));
}
