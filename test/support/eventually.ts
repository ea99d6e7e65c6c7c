/** Waits for a condition for a bounded time, instead of sleeping. */
import { setTimeout as pause } from 'node:timers/promises';

/** Far longer than any condition takes on a busy machine. Only a failing test waits this long. */
const WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 20;

/** A predicate, a value, or some properties of a value. */
type Expected<T> = ((seen: T) => boolean) | (T extends object ? Partial<Record<keyof T, unknown>> : T);

/**
 * Repeats `look` until it returns what is expected, and returns the result. Throws with the last result after a time
 * limit. A `look` that throws is repeated.
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T> | T,
  expected: Expected<T>,
  withinMs: number = WITHIN_MS,
): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    let last: unknown;
    try {
      const seen = await look();
      if (isExpected(seen, expected)) return seen;
      last = seen;
    } catch (error) {
      last = error instanceof Error ? error.message : error;
    }
    if (performance.now() > until)
      throw new Error(`${what}: not within ${withinMs / 1_000} s; last seen ${JSON.stringify(last)}`);
    await pause(LOOK_EVERY_MS);
  }
}

function isExpected<T>(seen: T, expected: Expected<T>): boolean {
  if (typeof expected === 'function') return (expected as (seen: T) => boolean)(seen);
  if (typeof expected !== 'object' || expected === null) return seen === expected;
  return Object.entries(expected).every(([name, value]) => seen[name as keyof T] === value);
}
