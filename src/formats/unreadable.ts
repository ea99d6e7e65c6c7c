import type { Problem } from '../contract/check.ts';

/**
 * One element of a list, or one record of a CSV. A real one has less than a thousand bytes; one is held in memory
 * whole, and a field without end must not be.
 */
export const ELEMENT_BYTES_MAX = 1024 * 1024;

export const TOO_LARGE = `must be at most ${ELEMENT_BYTES_MAX / 1024 / 1024} MiB`;

/** The rest can't be read. Problems like any others, but the last ones; none holds a value. */
export class Unreadable extends Error {
  readonly code = 'UNREADABLE';
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super(problems.map(({ rule }) => rule).join('; '));
    this.problems = problems;
  }
}

export function unreadable(path: string, rule: string): Unreadable {
  return new Unreadable([{ path, rule }]);
}
