/** Functions and types that the steps of the demo share. */
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { Stage } from './stage.ts';

/** The parts that a step works with. */
export type Scene = {
  readonly stage: Stage;
  readonly now: Clock;
  /** Prints what happens, indented by 3 or `indent`. */
  show(text: string, indent?: number): void;
  /** Prints what was checked, after the check passed. */
  confirm(text: string): void;
};

/** A numbered step of the demo. `play` rejects, mostly with STEP_FAILED, when a result is not as expected. */
export type Step = { readonly title: string; play(scene: Scene): Promise<void> };

export function stepFailed(expected: string, found: string): AppError {
  return new AppError('STEP_FAILED', `  expected: ${expected}\n  found:    ${found}`);
}

/** Each wait takes well under a second on an idle machine. The limit allows for a busy one. */
const WAIT_MS = 60_000;
const LOOK_EVERY_MS = 10;

/** Throws STEP_FAILED unless `holds`. */
export function expect(holds: boolean, expected: string, found: string): void {
  if (!holds) throw stepFailed(expected, found);
}

/** Throws STEP_FAILED unless both are deeply equal. `what` names them. */
export function expectEqual(what: string, found: unknown, expected: unknown): void {
  expect(isDeepStrictEqual(found, expected), `${what}: ${shown(expected)}`, shown(found));
}

/** Polls until `holds` and returns what it saw. Throws STEP_FAILED with the last value after `withinMs`. */
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
    if (performance.now() > until) throw stepFailed(`${expected} within ${withinMs / 1_000} s`, shown(seen));
    await pause(LOOK_EVERY_MS);
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Returns the path of the first difference of two JSON values, such as `employees[2].address.state`, or null.
 * Names no value, because values may be personal.
 */
export function firstDifference(found: unknown, expected: unknown, path = ''): string | null {
  if (Object.is(found, expected)) return null;
  if (!isParts(found) || !isParts(expected) || Array.isArray(found) !== Array.isArray(expected)) {
    return path === '' ? 'all of it' : path;
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const name = Array.isArray(expected) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    const difference = firstDifference(found[key], expected[key], name);
    if (difference !== null) return difference;
  }
  return null;
}

function isParts(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
