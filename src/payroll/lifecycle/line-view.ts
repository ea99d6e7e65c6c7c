/** Lines of payroll runs as the API and the command line show them. */
import type { Static } from 'typebox';
import type { UnappliedChange as Change } from '../../checks.ts';
import { component, nullable } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { UnappliedChange, unappliedChanges, withoutAmounts } from '../../inbox/unapplied.ts';
import type { Viewer } from '../../ledger/visibility.ts';
import { LineRecord } from '../calculation/line.ts';
import type { LinesOfEmployee } from '../records/frozen-lines.ts';
import type { StoredRun } from '../records/runs.ts';
import { withVisibleCauses } from './visible-causes.ts';

/** A line and, while its run is open, the newest change of its amount that is not applied. */
export const ShownLine = component(
  'Line',
  {
    ...LineRecord.properties,
    unapplied: nullable({
      ...UnappliedChange,
      description:
        'The newest change of this amount that arrived and is not applied. Null without one, and for a run that is not open.',
    }),
  },
  'One deduction from one paycheck.',
);
export type ShownLine = Static<typeof ShownLine>;

/**
 * How a caller sees lines. `unapplied`: changes that are not applied with their amounts, without, or not at all. `viewer`: a
 * caller limited to employers, or null.
 */
export type LineSight = { unapplied: 'amounts' | 'marks' | 'none'; viewer: Viewer | null };

/** Returns the lines of an open run as they are shown. */
export async function markedLines(
  db: Db,
  sight: LineSight,
  lines: readonly LineRecord[],
): Promise<ShownLine[]> {
  const changes = sight.unapplied === 'none' ? NO_CHANGES : await unappliedChanges(db);
  const visible = await withVisibleCauses(db, sight.viewer, lines);
  return visible.map((line) => markedLine(line, changes, sight));
}

/** Yields the lines of a run as they are shown. Changes that are not applied are read once for all pages. */
export async function* shownLines(
  db: Db,
  { state }: Pick<StoredRun, 'state'>,
  pages: AsyncIterable<LinesOfEmployee[]>,
  sight: LineSight,
): AsyncGenerator<{ employeeId: string; lines: ShownLine[] }[]> {
  const changes = state === 'open' && sight.unapplied !== 'none' ? await unappliedChanges(db) : NO_CHANGES;
  for await (const page of pages) {
    const ofPage = page.flatMap(({ lines }) => lines);
    const visible = await withVisibleCauses(db, sight.viewer, ofPage);
    const byEmployee = Map.groupBy(visible, ({ employee_id }) => employee_id);
    yield page.map(({ employeeId }) => {
      const lines = byEmployee.get(employeeId) ?? [];
      return { employeeId, lines: lines.map((line) => markedLine(line, changes, sight)) };
    });
  }
}

type Changes = ReadonlyMap<string, readonly Change[]>;

const NO_CHANGES: Changes = new Map();

function markedLine(line: LineRecord, changes: Changes, { unapplied: sight }: LineSight): ShownLine {
  const isOfLine = ({ deduction_id, line_of_coverage }: Change) =>
    deduction_id === null ? line_of_coverage === line.line_of_coverage : deduction_id === line.deduction_id;
  const change = line.kind === 'regular' ? changes.get(line.employee_id)?.find(isOfLine) : undefined;
  const unapplied = change === undefined || sight === 'amounts' ? (change ?? null) : withoutAmounts(change);
  return { ...line, unapplied };
}
