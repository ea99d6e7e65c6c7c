/** Waiting for what can be seen, for a bounded time: no test sleeps and hopes. */
import { setTimeout as pause } from 'node:timers/promises';

/** Far beyond what anything here takes on a busy machine. Only a test that fails waits for so long. */
const WITHIN_MS = 120_000;
/** Between two looks. */
const LOOK_EVERY_MS = 20;

/**
 * Repeats `look` until `holds`, and returns what it saw. Throws, with what it saw last, after a time limit. A
 * look that throws counts as not seen yet.
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T> | T,
  holds: (seen: T) => boolean,
  withinMs: number = WITHIN_MS,
): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    let last: unknown;
    try {
      const seen = await look();
      if (holds(seen)) return seen;
      last = seen;
    } catch (error) {
      last = error instanceof Error ? error.message : error;
    }
    if (performance.now() > until) {
      throw new Error(`${what}: not within ${withinMs / 1_000} s; last seen ${JSON.stringify(last)}`);
    }
    await pause(LOOK_EVERY_MS);
  }
}
