/** Reads the days on which versions of deductions are in effect. */
import { component, nullableText } from '../contract/fields.ts';
import type { Db, Trx } from '../database/tables.ts';
import { createReading, type DeductionState, seenVersions, withEmployers } from './deductions.ts';
import type { Version } from './fold.ts';
import { historyOf } from './history.ts';
import { endedBy, replacementsOf } from './placeholders.ts';
import { type Days, daysInEffect, timelineOf } from './state.ts';
import type { Viewer } from './visibility.ts';

export const DaysInEffect = component(
  'DaysInEffect',
  {
    from: nullableText('The first date. Null if it has no start.'),
    until: nullableText(
      'The last date: the end of the deduction, or the date before a newer version replaces it. Null if it has no end.',
    ),
  },
  'The dates on which a version of a deduction is in effect.',
);

/** A version with the days on which it is in effect. */
export type VersionInEffect = { state: DeductionState; days: Days };

/**
 * Returns the last `limit` versions of a deduction that are in effect on some day, in the order of their days; null for an
 * unknown deduction. `viewer`: only what a limited caller may see.
 */
export async function timelineOfDeduction(
  db: Db,
  deductionId: string,
  { limit, today, viewer }: { limit: number; today: string; viewer: Viewer | null },
): Promise<VersionInEffect[] | null> {
  const history = await historyOf(db, [deductionId]);
  if (history.length === 0) return null;
  const reading = createReading(db, viewer);
  const versions = await seenVersions(reading, history);
  const days = await daysOf(db, versions);
  const byPosition = new Map(versions.map((version) => [version.position, version]));
  const shown = [...days.keys()].slice(-limit).flatMap((position) => byPosition.get(position) ?? []);
  const states = await withEmployers(reading, shown, { day: today });
  return states.map((state) => ({ state, days: days.get(state.version.position) as Days }));
}

/** Returns the days on which versions of these deductions are in effect, by position. */
export async function daysOfVersions(
  db: Db | Trx,
  deductionIds: readonly string[],
): Promise<Map<number, Days>> {
  return daysOf(db, await historyOf(db, deductionIds));
}

/** Returns the days of whole histories. */
async function daysOf(db: Db | Trx, versions: readonly Version[]): Promise<Map<number, Days>> {
  const replacements = await replacementsOf(db, versions);
  const histories = Map.groupBy(versions, ({ deduction_id }) => deduction_id);
  const counting = [...histories].map(([id, history]) =>
    endedBy(timelineOf(history).counting, replacements.get(id) ?? null),
  );
  return new Map(counting.flatMap((versions) => [...daysInEffect(versions)]));
}
