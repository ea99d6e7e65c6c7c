/** Finds the rows of a census that its caller, limited to employers, may not stage. */
import { PROBLEMS_MAX } from '../contract/check.ts';
import { isOneOfSelected } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import { AppError } from '../errors.ts';
import { readPosition } from '../ledger/position.ts';
import { reportedAfter, rosterOf } from '../ledger/roster.ts';
import { ELSEWHERE_ADVICE, elsewhereProblem, isElsewhere, type Viewer } from '../ledger/visibility.ts';
import type { CensusRow } from './check.ts';
import { employeePath } from './reading.ts';

const ROWS_AT_ONCE = 256;

/**
 * Creates the check of the rows of one census, which passes each row in order. `viewer`: null for a caller that sees all. Its end
 * throws EMPLOYEE_ELSEWHERE with the rows.
 */
export async function createElsewhereCheck(db: Db, employerId: string, viewer: Viewer | null) {
  const position = viewer === null ? 0 : await readPosition(db);
  const rowOf = new Map<string, number>();
  let waiting: string[] = [];
  let elsewhere: string[] = [];

  const select = async (on: Db | Trx, employeeIds: readonly string[], by: Viewer): Promise<string[]> => {
    const roster = await rosterOf(on, employeeIds);
    return employeeIds.filter((id) => isElsewhere(roster.get(id) ?? [], employerId, by));
  };
  const lookUp = async (by: Viewer): Promise<void> => {
    const employeeIds = waiting;
    waiting = [];
    elsewhere = [...elsewhere, ...(await select(db, employeeIds, by))];
  };
  const refuse = (): void => {
    if (elsewhere.length === 0) return;
    const rows =
      elsewhere.length === 1 ? '1 row names an employee' : `${elsewhere.length} rows name employees`;
    const why = `${rows} active at an employer outside the limit of this token, so nothing was stored.`;
    const problems = elsewhere
      .slice(0, PROBLEMS_MAX)
      .map((id) => elsewhereProblem(`${employeePath(rowOf.get(id) as number)}.employee_id`));
    const problemCount = elsewhere.length;
    throw new AppError('EMPLOYEE_ELSEWHERE', `${why} ${ELSEWHERE_ADVICE}`, { problems, problemCount });
  };

  return {
    async add({ employee }: CensusRow): Promise<void> {
      if (viewer === null) return;
      rowOf.set(employee.employee_id, rowOf.size);
      waiting.push(employee.employee_id);
      if (waiting.length === ROWS_AT_ONCE) await lookUp(viewer);
    },
    /** Checks the rows by the roster as it was when they were added. */
    async end(): Promise<void> {
      if (viewer !== null) await lookUp(viewer);
      refuse();
    },
    /** Checks the rows of the stored census by what was reported since. The caller holds the lock of the ledger. */
    async endLocked(trx: Trx, censusId: string): Promise<void> {
      if (viewer === null) return;
      const rows = await trx
        .selectFrom('census_fingerprints')
        .select('employee_id')
        .where('census_id', '=', censusId)
        .where(isOneOfSelected(trx, 'employee_id', reportedAfter(trx, position)))
        .execute();
      elsewhere = await select(
        trx,
        rows.map(({ employee_id }) => employee_id),
        viewer,
      );
      refuse();
    },
  };
}
