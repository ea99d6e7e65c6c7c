/** What must hold, and what is said when it does not. */
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

/** A step did not come out as it must. */
export class StepFailed extends Error {
  readonly code = 'STEP_FAILED';
  readonly expected: string;
  readonly found: string;
  constructor(expected: string, found: string) {
    super(`expected ${expected}; found ${found}`);
    this.expected = expected;
    this.found = found;
  }
}

/** Each wait takes well under a second on an idle machine. The limit leaves room for a busy one. */
export const WAIT_MS = 60_000;
/** Between two looks. */
const LOOK_EVERY_MS = 10;

/** Throws `StepFailed` unless `holds`. */
export function expect(holds: boolean, expected: string, found: string): void {
  if (!holds) throw new StepFailed(expected, found);
}

/** Throws `StepFailed` unless both are equal to the last field. `what` names them. */
export function expectEqual(what: string, found: unknown, expected: unknown): void {
  expect(isDeepStrictEqual(found, expected), `${what}: ${shown(expected)}`, shown(found));
}

/**
 * Looks again and again until `holds`, and answers what it saw. Throws `StepFailed`, with what it saw last, when
 * that takes longer than `withinMs`.
 */
export async function waitFor<T>(
  expected: string,
  look: () => Promise<T> | T,
  holds: (seen: T) => boolean,
  withinMs: number = WAIT_MS,
): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (performance.now() > until)
      throw new StepFailed(`${expected} within ${withinMs / 1_000} s`, shown(seen));
    await pause(LOOK_EVERY_MS);
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
