import { describe, type Problem } from '../contract/check.ts';
import type { Output } from './output.ts';
import { printable } from './output.ts';

/** What the check of a census found. */
export type Findings = { employees: number; problemCount: number; problems: readonly Problem[] };

/** As the API's validation answers; never a value, only field paths and rules. */
export function findingsShape({ employees, problemCount, problems }: Findings) {
  return { valid: problemCount === 0, employees, problem_count: problemCount, problems };
}

/** Names each row and field, one a line, then how many there are. */
export function printProblems(out: Output, { employees, problemCount, problems }: Findings): void {
  for (const problem of problems) out.print(printable(describe(problem)));
  const left = problemCount - problems.length;
  if (left > 0) out.print(`… and ${left} more`);
  out.note(
    `${out.colour('red', 'refused')}: ${problemCount} problem${problemCount === 1 ? '' : 's'} in ${employees} employees; mend them and try again`,
  );
}
