/** A page of a run's lines: as many as were asked for, wherever that is, and each line on one page only. */
import type { Line } from '../payroll/calculation/line.ts';
import type { LineCursor, LinesOfEmployee } from '../payroll/runs/line-pages.ts';

/** Where a page ended: behind an employee, and `given` lines into the next one, at the ledger's position of the list. */
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
