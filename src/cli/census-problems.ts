import type { Findings } from '../census/view.ts';
import { describe } from '../contract/check.ts';
import type { Output } from './output.ts';
import { printable } from './output.ts';

/** Names each row and field, one a line, then how many there are. */
export function printProblems(out: Output, { employees, problemCount, problems }: Findings): void {
  for (const problem of problems) out.print(printable(describe(problem)));
  const left = problemCount - problems.length;
  if (left > 0) out.print(`… and ${left} more`);
  out.note(
    `${out.colour('red', 'refused')}: ${problemCount} problem${problemCount === 1 ? '' : 's'} in ${employees} employees; mend them and try again`,
  );
}
