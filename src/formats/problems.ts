import { PROBLEMS_MAX, type Problem } from '../contract/check.ts';
import type { Columns, GivenRow, Rows } from './rows.ts';
import { Unreadable } from './unreadable.ts';

/** A table is refused as a whole: all that is wrong with it is counted, and the first `PROBLEMS_MAX` are named. */
export type RowsRefused = { ok: false; problems: Problem[]; problem_count: number };

/** What is wrong with a table, gathered while it is read. */
export type Problems = {
  add(...problems: readonly Problem[]): void;
  readonly isEmpty: boolean;
  refused(): RowsRefused;
};

export function createProblems(): Problems {
  const named: Problem[] = [];
  let count = 0;
  return {
    add(...problems) {
      count += problems.length;
      named.push(...problems.slice(0, PROBLEMS_MAX - named.length));
    },
    get isEmpty() {
      return count === 0;
    },
    refused: () => ({
      ok: false,
      problems: named.toSorted((one, other) => rowOf(one) - rowOf(other)),
      problem_count: count,
    }),
  };
}

/** Rows are looked at some hundred at a time, and some things are found later than others; people read from the top. */
function rowOf({ path }: Problem): number {
  return Number(/\[(\d+)\]/.exec(path)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

/**
 * The rows that can be read, in lists of at most `count`; what is wrong with the others, and what ends the reading, is
 * added to the problems. Throws what the content throws.
 */
export async function* readableRows(
  rows: Rows,
  { list }: Columns,
  problems: Problems,
  count: number,
): AsyncGenerator<GivenRow[]> {
  let given = 0;
  let some: GivenRow[] = [];
  try {
    for await (const row of rows) {
      given += 1;
      if ('problem' in row) problems.add(row.problem);
      else some.push(row);
      if (some.length < count) continue;
      yield some;
      some = [];
    }
    if (given === 0) problems.add({ path: list, rule: 'must have at least 1 element' });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    problems.add(...error.problems);
  }
  if (some.length > 0) yield some;
}
