/** Which version a version took the place of in time: not always the one that was recorded before it. Pure. */
import type { Version } from './marks.ts';

/** `unknown`: it may be one that was not read. Null: nothing that was known is older. */
export type Before = Version | 'unknown' | null;

/**
 * `older`: what was recorded before the version, the newest first; `isAll`: whether nothing was recorded before those.
 * The ledger keeps versions by event time, then by position, and that is the order in which one follows another.
 */
export function versionBefore(version: Version, older: readonly Version[], isAll: boolean): Before {
  // What came in time took the place of the latest, which is the last that came in time.
  const [found] = version.late
    ? older
        .filter(({ event_time }) => event_time <= version.event_time)
        .toSorted((one, other) =>
          one.event_time > other.event_time ? -1 : one.event_time < other.event_time ? 1 : 0,
        )
    : older.filter(({ late }) => !late);
  // An older one of a late version that was not read may lie between.
  if (!isAll && (version.late || found === undefined)) return 'unknown';
  return found ?? null;
}
