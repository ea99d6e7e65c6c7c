import { performance } from 'node:perf_hooks';

/** Time comes in as a parameter, so that tests can set it and one transaction has one `now`. */
export type Clock = () => Date;

/** Milliseconds of two clocks that are never set. `idle` does not advance while this thread works. */
export type Elapsed = { now: () => number; idle: () => number };

export const systemElapsed: Elapsed = {
  now: () => performance.now(),
  idle: () => performance.eventLoopUtilization().idle,
};

export const systemClock: Clock = () => new Date();

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
] as const;

/** Returns a duration in the largest unit with a value of at least two, such as `90 s`. */
export function describeDuration(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, unitMs]) => ms >= 2 * unitMs) ?? ['s', 1_000];
  return `${Math.floor(ms / unitMs)} ${unit}`;
}

export const UTC = 'UTC';

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the day of a time, or of UTC text, in a time zone. */
export function dayIn(zone: string, time: Date | string): string {
  if (zone === UTC) return new Date(time).toISOString().slice(0, 'YYYY-MM-DD'.length);
  const format = formats.get(zone) ?? formatOf(zone);
  formats.set(zone, format);
  const parts = new Map(format.formatToParts(new Date(time)).map(({ type, value }) => [type, value]));
  return `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, calendar: 'iso8601', numberingSystem: 'latn' },
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
  });
}

/** A place. Offsets and abbreviations, such as Etc/GMT+5 and EST, have no daylight saving time: they are mistakes for one. */
const PLACE = /^(?!etc\/)[a-z_]+\//i;

/** Returns the name under which a time zone is stored, one for all of its names; null for an unknown one. */
export function zoneName(text: string): string | null {
  try {
    const name = formatOf(text).resolvedOptions().timeZone;
    return name === UTC || PLACE.test(text) ? name : null;
  } catch {
    return null;
  }
}
