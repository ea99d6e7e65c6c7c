import { describe, type Problem } from '../contract/check.ts';

/**
 * What was given can't be used: each problem names its field or row, and nothing was changed. `problems` may be the
 * first of `problemCount`.
 */
export class Refused extends Error {
  readonly code = 'REFUSED';
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  constructor(what: string, problems: readonly Problem[], problemCount: number = problems.length) {
    super(`${what} is refused, and nothing was changed`);
    this.problems = problems;
    this.problemCount = problemCount;
  }
}

/** What is wrong, one line each; none when the error names no problems. */
export function problemLines(error: unknown): string[] {
  const { problems = [], problemCount = problems.length } = (error ?? {}) as Partial<Refused>;
  const left = problemCount - problems.length;
  return [...problems.map(describe), ...(left > 0 ? [`… and ${left} more`] : [])];
}
