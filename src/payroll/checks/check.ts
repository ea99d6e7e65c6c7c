/** The form of a run's own checks: what finds in an employee's lines while the run is computed, and what asks the database. */
import type { Check, EmployerQuestion, Found } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { amountOf } from '../../money.ts';
import type { Line } from '../calculation/line.ts';
import type { Computation } from '../compute/computation.ts';
import type { EmployeeLines } from '../compute/taking.ts';

/** What the checks found in the employees of a run, by check. */
export type FoundInRun = ReadonlyMap<string, readonly Found[]>;

/** A question about a run that is computed. */
export type RunQuestion = EmployerQuestion & { computation: Computation; found: FoundInRun };

/** An employee with computed lines, and what several checks look at. */
export type Seen = EmployeeLines & {
  employeeId: string;
  regular: readonly Line[];
  /** The employee's deductions in effect on the run's day. */
  inEffect: readonly string[];
};

/** Looks at one employee after the other, by id. Most find nothing: `NONE` makes no list for them. */
export type Finder<F extends Found> = { each(seen: Seen): readonly F[]; atEnd?(): readonly F[] };

export const NONE: readonly never[] = [];

/**
 * A check of a run. `look` begins to look at the employees, also at those who are not in the run; `find` asks the database. With
 * both, `find` decides about what `look` found.
 */
export type RunCheck<F extends Found = Found> = Omit<Check<Db, RunQuestion, F>, 'find'> & {
  look?(computation: Computation): Finder<F>;
  find?(db: Db, question: RunQuestion): Promise<readonly F[]>;
};

/** Returns a finder without an end. */
export function each<F extends Found>(find: (seen: Seen) => readonly F[]): Finder<F> {
  return { each: find };
}

/** Returns what `look` found for a check. */
export function foundIn<F extends Found>({ found }: RunQuestion, { id }: RunCheck<F>): readonly F[] {
  return (found.get(id) ?? NONE) as readonly F[];
}

/** The texts of a passed check of regular runs: of an off-cycle run, and of the others. */
export function passedIfRegular(
  offCycle: string,
  passed: string | ((db: Db, question: RunQuestion) => Promise<string>),
) {
  return async (db: Db, question: RunQuestion) => {
    if (question.computation.run.kind === 'off_cycle') return offCycle;
    return typeof passed === 'string' ? passed : passed(db, question);
  };
}

/** Names what a finding rests on: another version of the deduction is another finding. */
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

/** Returns what a finding about one line has of it. */
export function factsOf({ account, election: { version }, amounts }: Line) {
  const { employee_id, deduction_id, line_of_coverage } = account;
  const [member_amount, employer_amount] = [amountOf(amounts.member), amountOf(amounts.employer)];
  return { employee_id, deduction_id, version, line_of_coverage, member_amount, employer_amount };
}

/** Returns the value that all have, or null if they differ. */
export function onlyOne<Value>(values: readonly Value[]): Value | null {
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : null;
}
