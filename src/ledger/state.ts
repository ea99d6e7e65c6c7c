/** Decides which versions of a deduction count, and which one is in effect on a date (docs/getting-started.md#the-words). Pure. */
import { isSet, utcDay } from '../contract/instant.ts';
import { isSameNumber, isZero } from '../money.ts';
import type { Version } from './fold.ts';

type Ordered = Pick<Version, 'event_time' | 'position'>;
type Span = Pick<Version, 'starts_on' | 'ends_on'>;
type Contributions = Pick<Version, 'member_contribution' | 'employer_contribution' | 'period'>;
type Election = Contributions & Pick<Version, 'taxability' | 'line_of_coverage' | 'coverage_type'>;

/** `next` was sent before `version` started, and starts later. */
export type MovedStart<V> = { version: V; next: V };

/** A version that had not begun, and a later one that starts earlier and ends before its start: it is the state on no day. */
export type ErasedStart<V> = { version: V; by: V };

export type Timeline<V> = {
  counting: readonly V[];
  /** Corrected starts: `version` never applies. */
  corrected: readonly MovedStart<V>[];
  /** Starts moved together with other content: `version` applies until `next` starts. */
  moved: readonly MovedStart<V>[];
};

function byEventTime(one: Ordered, other: Ordered): number {
  if (one.event_time !== other.event_time) return one.event_time < other.event_time ? -1 : 1;
  return one.position - other.position;
}

/** Returns the version with the greatest (event time, position), or null if there is none. */
export function latestOf<V extends Ordered>(versions: readonly V[]): V | null {
  const later = (one: V | null, other: V) => (one === null || byEventTime(other, one) > 0 ? other : one);
  return versions.reduce(later, null);
}

/**
 * Returns the latest counting version that has started by a day: a change for next month does not erase this month.
 * Builds no list, because a run calls it for every pay date of the year.
 */
export function stateOn<V extends Ordered & Span>(versions: readonly V[], day: string): V | null {
  let state: V | null = null;
  for (const version of versions) {
    const { starts_on } = version;
    if (starts_on !== null && starts_on > day) continue;
    if (state === null || byEventTime(version, state) > 0) state = version;
  }
  return state;
}

/** Returns whether a state is in effect on a day, both ends inclusive; with an end before its start it never is. */
export function appliesOn({ starts_on, ends_on }: Span, day: string): boolean {
  return (starts_on === null || starts_on <= day) && (ends_on === null || day <= ends_on);
}

/** Returns whether a state is in effect on no day: it ends before it starts, or its end was never set. */
export function isNeverInEffect({ starts_on, ends_on }: Span): boolean {
  return ends_on !== null && (!isSet(ends_on) || (starts_on !== null && ends_on < starts_on));
}

/** Returns the rows that were recorded by an instant; without one, all. */
export function knownAt<Recorded extends { recorded_at: string }>(
  rows: readonly Recorded[],
  instant: string | undefined,
): Recorded[] {
  return instant === undefined ? [...rows] : rows.filter(({ recorded_at }) => recorded_at <= instant);
}

/** Decides which versions of a deduction count ("Corrected start dates" in docs/receiving-events.md). */
export function timelineOf<V extends Ordered & Span & Election>(versions: readonly V[]): Timeline<V> {
  if (versions.length < 2) return { counting: versions, corrected: [], moved: [] };
  const corrected: MovedStart<V>[] = [];
  const moved: MovedStart<V>[] = [];
  const rising = statesInOrder(versions);
  for (const [index, version] of rising.entries()) {
    const next = rising[index + 1];
    if (next === undefined || !isMoved(version, next)) continue;
    (hasSameElection(version, next) ? corrected : moved).push({ version, next });
  }
  if (corrected.length === 0) return { counting: versions, corrected, moved };
  const dropped = new Set(corrected.map(({ version }) => version));
  // A version that a dropped one replaced does not apply again.
  return { counting: rising.filter((version) => !dropped.has(version)), corrected, moved };
}

/** Returns the renewals that a later change of the window before erased: of each start, the latest version. */
export function erasedStarts<V extends Ordered & Span & Contributions>(
  versions: readonly V[],
): ErasedStart<V>[] {
  let lastStart = '';
  for (const { starts_on } of versions)
    if (starts_on !== null && starts_on > lastStart) lastStart = starts_on;
  // Most often no window ends before another one starts.
  if (versions.every(({ ends_on }) => ends_on === null || ends_on >= lastStart)) return [];
  const latest = new Map<string, V>();
  for (const version of versions) {
    const { starts_on } = version;
    if (starts_on === null) continue;
    const known = latest.get(starts_on);
    if (known === undefined || byEventTime(version, known) > 0) latest.set(starts_on, version);
  }
  return [...latest].flatMap(([start, version]) => {
    const { ends_on, member_contribution, employer_contribution } = version;
    const hasNoAmount = isZero(member_contribution) && isZero(employer_contribution);
    if (hasNoAmount || (ends_on !== null && ends_on < start)) return [];
    const by = stateOn(versions, start);
    if (by === null || by === version || by.ends_on === null || by.ends_on >= start) return [];
    const isEarlier = (by.starts_on ?? '') < start;
    return isEarlier && utcDay(by.event_time) < start ? [{ version, by }] : [];
  });
}

/** Returns whether the start that counts decides which version a run on this day takes. */
export function concernsDay({ version, next }: MovedStart<Span>, day: string): boolean {
  return (version.starts_on ?? '') <= day && day < (next.starts_on ?? '');
}

/** Returns the versions, in order, that no later one replaces from its first day. */
export function statesInOrder<V extends Ordered & Span>(versions: readonly V[]): V[] {
  const rising: V[] = [];
  for (const version of versions.toSorted(byEventTime).reverse()) {
    const next = rising.at(-1);
    if (next === undefined || (version.starts_on ?? '') < (next.starts_on ?? '')) rising.push(version);
  }
  return rising.reverse();
}

/** A version without a start has begun; two windows that do not touch are a renewal. */
function isMoved(version: Ordered & Span, next: Ordered & Span): boolean {
  const nextStart = next.starts_on as string;
  if (next.ends_on !== null && next.ends_on < nextStart) return false;
  if (version.ends_on !== null && version.ends_on < nextStart) return false;
  const sentOn = utcDay(next.event_time);
  return version.starts_on !== null && sentOn < version.starts_on;
}

export function hasSameElection(election: Election, other: Election): boolean {
  return (
    election.period === other.period &&
    election.taxability === other.taxability &&
    election.line_of_coverage === other.line_of_coverage &&
    election.coverage_type === other.coverage_type &&
    isSameNumber(election.member_contribution, other.member_contribution) &&
    isSameNumber(election.employer_contribution, other.employer_contribution)
  );
}

/** The days of a state, both inclusive; null where it is open. */
export type Days = { from: string | null; until: string | null };

/** Returns the days on which each counting version is in effect, by position. A version that is in effect on no day is missing. */
export function daysInEffect<V extends Ordered & Span>(counting: readonly V[]): Map<number, Days> {
  const rising = statesInOrder(counting);
  const days = rising.map(({ position, starts_on: from, ends_on }, index): [number, Days] => {
    const nextStart = rising[index + 1]?.starts_on ?? null;
    const last = nextStart === null ? null : dayBefore(nextStart);
    const until = ends_on === null || (last !== null && last < ends_on) ? last : ends_on;
    return [position, { from, until }];
  });
  return new Map(days.filter(([, { from, until }]) => from === null || until === null || from <= until));
}

export function dayBefore(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - 1);
  return utcDay(date);
}
