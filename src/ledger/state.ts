/** The state of a deduction on a day and as known at a time (payroll.md), pure. */
import type { Version } from './fold.ts';

/** What the order of versions is told by. */
type Ordered = Pick<Version, 'event_time' | 'position'>;
type Span = Pick<Version, 'starts_on' | 'ends_on'>;

/** The greater of two versions is the later one: by event time, then by position. */
function isLater(one: Ordered, other: Ordered): boolean {
  if (one.event_time !== other.event_time) return one.event_time > other.event_time;
  return one.position > other.position;
}

/** The latest of some versions, or null when there is none. */
export function latestOf<V extends Ordered>(versions: readonly V[]): V | null {
  return versions.reduce<V | null>(
    (latest, version) => (latest === null || isLater(version, latest) ? version : latest),
    null,
  );
}

/**
 * The state on a day (YYYY-MM-DD): the latest version that has started by then, so that a change sent today for
 * next month does not erase this month. Null when none has. It may have ended: see `appliesOn`.
 */
export function stateOn<V extends Ordered & Span>(versions: readonly V[], day: string): V | null {
  return latestOf(versions.filter(({ starts_on }) => starts_on === null || starts_on <= day));
}

/** Whether a state is in effect on a day, both ends inclusive; with an end before its start it never is. */
export function appliesOn({ starts_on, ends_on }: Span, day: string): boolean {
  return (starts_on === null || starts_on <= day) && (ends_on === null || day <= ends_on);
}

/** The versions that the ledger had by an instant (fixed-width UTC of milliseconds). */
export function knownAt(versions: readonly Version[], instant: string): Version[] {
  return versions.filter(({ recorded_at }) => recorded_at <= instant);
}
