/** The lines of one employee in earlier runs. Pure. */
import type { Line } from '../calculation/line.ts';
import type { FrozenRow } from '../records/frozen-lines.ts';

export type EarlierLines = {
  /** By freeze id, of the runs that the employee was in. */
  attended: ReadonlyMap<string, readonly Line[]>;
  /** By freeze id, of all runs. An employee outside a run may have a line that stops a deduction, or a refund. */
  frozen: ReadonlyMap<string, readonly Line[]>;
};

/** `rows`: one per run. */
export function earlierLinesOf(rows: readonly FrozenRow[]): EarlierLines {
  return {
    attended: new Map(rows.filter(({ isIn }) => isIn).map(({ freezeId, lines }) => [freezeId, lines])),
    frozen: new Map(rows.map(({ freezeId, lines }) => [freezeId, lines])),
  };
}
