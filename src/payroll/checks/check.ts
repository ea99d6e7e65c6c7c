/** The type of a run's own checks: they look at each employee while the run is computed, and may query the database afterward. */
import type { Check, EmployerQuestion, Found } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import type { Flag } from '../../formats/flags.ts';
import { amountOf } from '../../money.ts';
import type { Line } from '../calculation/line.ts';
import type { Computation } from '../compute/computation.ts';
import type { EmployeeLines } from '../compute/taking.ts';

/** The findings in the employees of a run, by the id of the check. */
export type FoundInRun = ReadonlyMap<string, readonly Found[]>;

/** A question about a computed run. */
export type RunQuestion = EmployerQuestion & { computation: Computation; found: FoundInRun };

/** An employee with computed lines, and with values that several checks use. */
export type Seen = EmployeeLines & {
  regular: readonly Line[];
  /** The employee's deductions in effect on the run's day. */
  inEffect: readonly string[];
};

/** Receives the employees one at a time, in the order of their ids. Most have no finding: `NONE` saves a list for each. */
export type Finder<F extends Found> = { each(seen: Seen): readonly F[]; atEnd?(): readonly F[] };

export const NONE: readonly never[] = [];

/** The detail of a check whose facts stay the same in later runs: `wasNamed`. */
export const NAMED_ONCE = 'Only the first run that finds it names it.';

/** Returns what is found in all items, like `flatMap`, but makes no list if nothing is. */
export function foundAmong<Item, F>(items: Iterable<Item>, find: (item: Item) => readonly F[]): readonly F[] {
  let found: readonly F[] = NONE;
  for (const item of items) {
    const ofItem = find(item);
    if (ofItem.length > 0) found = found.length === 0 ? ofItem : [...found, ...ofItem];
  }
  return found;
}

/** Returns the lines with a flag. */
export function linesWith(lines: readonly Line[], flag: Flag): readonly Line[] {
  return lines.some(({ flags }) => flags.includes(flag))
    ? lines.filter(({ flags }) => flags.includes(flag))
    : NONE;
}

/**
 * A check of a run. `look` starts a finder, which receives all employees, also those outside the run. `find` queries the
 * database; with both, it filters or completes the findings of `look`.
 */
export type RunCheck<F extends Found = Found> = Omit<Check<Db, RunQuestion, F>, 'find'> & {
  look?(computation: Computation): Finder<F>;
  find?(db: Db, question: RunQuestion): Promise<readonly F[]>;
};

/** Returns a finder that looks at each employee on its own. */
export function each<F extends Found>(find: (seen: Seen) => readonly F[]): Finder<F> {
  return { each: find };
}

/** Returns the findings of a check's `look`. */
export function foundIn<F extends Found>({ found }: RunQuestion, { id }: RunCheck<F>): readonly F[] {
  return (found.get(id) ?? NONE) as readonly F[];
}

/** Returns the text of a passed check that looks at regular runs only. */
export function passedIfRegular(
  offCycle: string,
  passed: string | ((db: Db, question: RunQuestion) => Promise<string>),
) {
  return async (db: Db, question: RunQuestion) => {
    if (question.computation.run.kind === 'off_cycle') return offCycle;
    return typeof passed === 'string' ? passed : passed(db, question);
  };
}

/** Identifies a finding by the version on which it is based. A new version makes a new finding. */
export function versionId({
  deduction_id,
  version,
}: {
  deduction_id: string;
  version: number | null;
}): string {
  return `${deduction_id}:${version}`;
}

export function versionOf({ account: { deduction_id }, election: { version } }: Line): string {
  return versionId({ deduction_id, version });
}

/** Returns the fields of a finding about one line. */
export function factsOf({ account, election: { version }, amounts }: Line) {
  const { employee_id, deduction_id, line_of_coverage } = account;
  const [member_amount, employer_amount] = [amountOf(amounts.member), amountOf(amounts.employer)];
  return { employee_id, deduction_id, version, line_of_coverage, member_amount, employer_amount };
}

/** Returns the value that all have in common, or null if they differ. */
export function onlyOne<Value>(values: readonly Value[]): Value | null {
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : null;
}
