/** The lines of one employee in earlier runs. Pure. */
import { isIncluded, type Line } from '../calculation/line.ts';
import type { FrozenRow } from '../records/frozen-lines.ts';

export type EarlierLines = {
  /** By freeze id, of the runs that the employee was in. */
  attended: ReadonlyMap<string, readonly Line[]>;
  /** By freeze id, of all runs. An employee outside a run may have a line that stops a deduction, or a refund. */
  frozen: ReadonlyMap<string, readonly Line[]>;
  /** Lines that finalized runs took for an earlier run, by its id, in the order of the runs that took them. */
  settling: ReadonlyMap<string | null, readonly Line[]>;
};

/** `rows`: one per run, in the order of the runs. `voided`: freeze ids of runs whose lines do not count. */
export function earlierLinesOf(rows: readonly FrozenRow[], voided: ReadonlySet<string>): EarlierLines {
  const settling = rows
    .filter(({ freezeId }) => !voided.has(freezeId))
    .flatMap(({ lines }) => lines.filter((line) => line.adjustment_for !== null && isIncluded(line)));
  return {
    attended: new Map(rows.filter(({ isIn }) => isIn).map(({ freezeId, lines }) => [freezeId, lines])),
    frozen: new Map(rows.map(({ freezeId, lines }) => [freezeId, lines])),
    settling: Map.groupBy(settling, (line) => line.adjustment_for),
  };
}
