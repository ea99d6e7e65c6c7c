/**
 * How long the service may send nothing before it is worth a look: longer than usual, where usual is what its own
 * events of the last four weeks show. Pure.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What counts as lately: it has four weekends, and the month's own rhythm. */
export const LEARNED_FROM_MS = 28 * DAY_MS;
/** Fewer events than this in that time show no rhythm. */
export const FEW_EVENTS = 10;
/** Shorter pauses say nothing: a night is no silence. Twice this is the shortest that is told. */
export const PAUSE_MIN_MS = 12 * HOUR_MS;
/** Nobody is told earlier: an hour without events is nothing, and the service tries again for a day. */
const LEAST_MS = DAY_MS;
/** Nobody is told later, and where there is no rhythm, now: two pay periods at most go by. */
const MOST_MS = 14 * DAY_MS;
/** A pause twice as long as usual: a weekend with a holiday stays below it. */
const TIMES_USUAL = 2;
/** A new endpoint is tried out on the first day. */
const FIRST_WITHIN_MS = DAY_MS;

/** What the inbox shows of its own rhythm. */
export type Rhythm = {
  /** When the service last sent an event, in milliseconds since 1970; null when it never did. */
  lastAt: number | null;
  /** When the database was made. */
  madeAt: number;
  /** Events of the last four weeks; counted up to `FEW_EVENTS`. */
  events: number;
  /** Pauses between them that were longer than `PAUSE_MIN_MS`, in milliseconds, in any order. */
  pauses: readonly number[];
};

/** Since when there is silence, and how long it may last; both in milliseconds. */
export type Silence = { since: number; allowedMs: number };

/**
 * Twice the usual pause, at least a day and at most two weeks. Usual is the second longest of the last four weeks: the
 * longest may have been an outage, while weekends come four times. With fewer than ten events two weeks; before the
 * first one a day since the database was made.
 */
export function silenceOf({ lastAt, madeAt, events, pauses }: Rhythm): Silence {
  if (lastAt === null) return { since: madeAt, allowedMs: FIRST_WITHIN_MS };
  if (events < FEW_EVENTS) return { since: lastAt, allowedMs: MOST_MS };
  const [, usual = 0] = pauses.toSorted((one, other) => other - one);
  return { since: lastAt, allowedMs: Math.min(MOST_MS, Math.max(LEAST_MS, TIMES_USUAL * usual)) };
}

/** Whether it has lasted longer than it may. */
export function isTooLong({ since, allowedMs }: Silence, now: Date): boolean {
  return now.getTime() - since > allowedMs;
}
