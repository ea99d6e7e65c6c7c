import { describe, type Problem } from '../contract/check.ts';
import type { Output } from './output.ts';
import { printable } from './output.ts';

/** A census that breaks the contract, as far as its problems go. */
export type Refused = { employees: number; problemCount: number; problems: readonly Problem[] };

/** The same shape in `census validate` and `census stage`; never a value, only field paths and rules. */
export function refusedShape({ employees, problemCount, problems }: Refused) {
  return { employees, problem_count: problemCount, problems };
}

/** Names each row and field, one a line, then how many there are. */
export function printProblems(out: Output, { employees, problemCount, problems }: Refused): void {
  for (const problem of problems) out.print(printable(describe(problem)));
  const left = problemCount - problems.length;
  if (left > 0) out.print(`… and ${left} more`);
  out.note(
    `${out.colour('red', 'refused')}: ${problemCount} problem${problemCount === 1 ? '' : 's'} in ${employees} employees; mend them and try again`,
  );
}
