/** Finds the rows of a census that its caller, limited to employers, may not stage. */
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { PROBLEMS_MAX } from '../contract/check.ts';
import type { Employee } from '../contract/employee.ts';
import { isOneOf, isOneOfSelected } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import { AppError } from '../errors.ts';
import { jsonColumn } from '../formats/json-column.ts';
import { employmentsOf, type RosterFact } from '../ledger/employment.ts';
import { readPosition } from '../ledger/position.ts';
import { employmentsQuery, type Roster, reportedAfter, rosterOf } from '../ledger/roster.ts';
import { ELSEWHERE_ADVICE, elsewhereProblem, isElsewhere, type Viewer } from '../ledger/visibility.ts';
import type { CensusRow } from './check.ts';
import { hasField, ORGANIZATION_ROW } from './fingerprints.ts';
import { employeePath } from './reading.ts';
import { currentFingerprints, type StagedCensus } from './staged.ts';

const ROWS_AT_ONCE = 256;
const LISTED_MAX = 1_000;

/** How many employees, and the first of them. */
export type EmployeesElsewhere = Static<typeof EmployeesElsewhere>;
const EmployeesElsewhere = Type.Object({ count: Type.Integer(), employee_ids: Type.Array(Type.String()) });

/**
 * Creates the check of the rows of one census, which passes each row in order. `viewer`: null for a caller that sees all. `end`
 * and `endLocked` only find rows; `refuse` throws EMPLOYEE_ELSEWHERE if there are any.
 */
export async function createElsewhereCheck(db: Db, employerId: string, viewer: Viewer | null) {
  const position = viewer === null ? 0 : await readPosition(db);
  const rowOf = new Map<string, number>();
  const leavers = new Set<string>();
  const elsewhere = new Set<string>();
  let waiting = new Map<string, Employee>();

  const find = async (on: Db | Trx, employeeIds: readonly string[], by: Viewer): Promise<void> => {
    const roster = await rosterOf(on, employeeIds);
    const reportsOf = (id: string) => roster.get(id) ?? [];
    const claimed = await claimedAt(on, employeeIds);
    const listed = await listedElsewhere(on, roster, employerId, by);
    for (const id of employeeIds) {
      const isAnothers = listed.has(id) || isElsewhere(reportsOf(id), employerId, by, claimed.get(id));
      const row = waiting.get(id);
      if (isAnothers && row !== undefined && hasLeft(reportsOf(id), employerId, row, by.today))
        leavers.add(id);
      if (isAnothers && !leavers.has(id)) elsewhere.add(id);
    }
  };
  const lookUp = async (by: Viewer): Promise<void> => {
    await find(db, [...waiting.keys()], by);
    waiting = new Map();
  };

  return {
    async add({ employee }: CensusRow): Promise<void> {
      if (viewer === null) return;
      rowOf.set(employee.employee_id, rowOf.size);
      waiting.set(employee.employee_id, employee);
      if (waiting.size === ROWS_AT_ONCE) await lookUp(viewer);
    },
    /** Checks the rows by the roster as it was when they were added. */
    async end(): Promise<void> {
      if (viewer !== null) await lookUp(viewer);
    },
    /** Checks the rows of the stored census by what was reported or staged since. The caller holds the lock of the ledger. */
    async endLocked(trx: Trx, censusId: string): Promise<void> {
      if (viewer === null) return;
      const rows = trx
        .selectFrom('census_fingerprints')
        .select('employee_id')
        .where('census_id', '=', censusId);
      const reported = await rows
        .where(isOneOfSelected(trx, 'employee_id', reportedAfter(trx, position)))
        .execute();
      const staged = await rows
        .where(
          isOneOfSelected(
            trx,
            'employee_id',
            sql`${claims(trx).where('employer_id', 'not in', viewer.employers)}`,
          ),
        )
        .where('employee_id', '<>', ORGANIZATION_ROW)
        .execute();
      const employeeIds = [...reported, ...staged].map(({ employee_id }) => employee_id);
      await find(trx, [...new Set(employeeIds)], viewer);
    },
    /** `consequence`: what did not happen, for the error. */
    refuse(consequence: string): void {
      if (elsewhere.size === 0) return;
      const rows = elsewhere.size === 1 ? '1 row names an employee' : `${elsewhere.size} rows name employees`;
      const why = `${rows} active at an employer outside the limit of this token, or in its census, so ${consequence}.`;
      const problems = [...elsewhere]
        .slice(0, PROBLEMS_MAX)
        .map((id) => elsewhereProblem(`${employeePath(rowOf.get(id) as number)}.employee_id`));
      const problemCount = elsewhere.size;
      throw new AppError('EMPLOYEE_ELSEWHERE', `${why} ${ELSEWHERE_ADVICE}`, { problems, problemCount });
    },
    employees: (): EmployeesElsewhere | null => listOf([...elsewhere]),
  };
}

function listOf(employeeIds: readonly string[]): EmployeesElsewhere | null {
  const { length: count } = employeeIds;
  return count === 0 ? null : { count, employee_ids: employeeIds.slice(0, LISTED_MAX) };
}

/** Returns whether a row only repeats when a former employee of the employer left. */
function hasLeft(
  reports: readonly RosterFact[],
  employerId: string,
  { hire_date, termination_date }: Employee,
  today: string,
): boolean {
  if (termination_date === undefined || termination_date >= today) return false;
  const employment = employmentsOf(reports).find(({ employer_id }) => employer_id === employerId);
  return (employment?.spells ?? []).some(
    (spell) => spell.hire_date === hire_date && spell.termination_date === termination_date,
  );
}

/** Returns the query of who is named by a current census that the roster does not have yet. */
function claims(on: Db | Trx) {
  // Literals, because SQLite does not use a partial index for bound values.
  return currentFingerprints(on)
    .where(sql<boolean>`roster_updated_at is null and elsewhere is null`)
    .select('census_fingerprints.employee_id');
}

/** Returns, by employee, the employers whose current census names the employee and is not in the roster yet. */
export async function claimedAt(
  on: Db | Trx,
  employeeIds: readonly string[],
): Promise<ReadonlyMap<string, string[]>> {
  if (employeeIds.length === 0) return new Map();
  const rows = await claims(on)
    .select('employer_id')
    .where(isOneOf(on, 'employee_id', employeeIds))
    .execute();
  const employers = new Map<string, string[]>();
  for (const { employee_id, employer_id } of rows)
    employers.set(employee_id, [...(employers.get(employee_id) ?? []), employer_id]);
  return employers;
}

/**
 * Returns which of these employees are new to the employer, and in the current census of one that the caller does not see and that
 * has or had them. They are refused whoever they are: a response by their birth date or SSN would show it.
 */
async function listedElsewhere(
  on: Db | Trx,
  roster: Roster,
  employerId: string,
  { employers }: Viewer,
): Promise<Set<string>> {
  const hidden = new Map(
    [...roster].flatMap(([id, reports]) => {
      const known = new Set(reports.map(({ employer_id }) => employer_id));
      const others = [...known].filter((employer) => !employers.includes(employer));
      return known.has(employerId) || others.length === 0 ? [] : [[id, others] as const];
    }),
  );
  if (hidden.size === 0) return new Set();
  const rows = await currentFingerprints(on)
    .select(['employer_id', 'employee_id'])
    .where(isOneOf(on, 'employer_id', [...new Set([...hidden.values()].flat())]))
    .where(isOneOf(on, 'employee_id', [...hidden.keys()]))
    .execute();
  const listed = rows.filter((row) => hidden.get(row.employee_id)?.includes(row.employer_id));
  return new Set(listed.map(({ employee_id }) => employee_id));
}

const readLimit = jsonColumn('staged_censuses', 'limited_to', Type.Array(Type.String()));
const readElsewhere = jsonColumn('staged_censuses', 'elsewhere', EmployeesElsewhere);

/**
 * Returns the employees whose rows keep a census of a limited caller from being sent: those found when it was fetched, or who went
 * to another employer since; null if there are none. Reads in small steps.
 */
export async function employeesElsewhere(
  db: Db,
  { census_id, employer_id, limited_to, elsewhere }: StagedCensus,
  today: string,
): Promise<EmployeesElsewhere | null> {
  if (elsewhere !== null) return readElsewhere(elsewhere, census_id);
  if (limited_to === null) return null;
  const viewer = { employers: readLimit(limited_to, census_id), today };
  const gone: string[] = [];
  let after: string | undefined = ORGANIZATION_ROW;
  while (after !== undefined) {
    const rows = await db
      .selectFrom('census_fingerprints')
      .innerJoin(employmentsQuery(db, null).as('employment'), (join) =>
        join.onRef('employment.employee_id', '=', 'census_fingerprints.employee_id'),
      )
      .select(['census_fingerprints.employee_id', 'field_hashes'])
      .distinct()
      .where('census_id', '=', census_id)
      .where('census_fingerprints.employee_id', '>', after)
      .where('employment.employer_id', 'not in', viewer.employers)
      .orderBy('census_fingerprints.employee_id')
      .limit(ROWS_AT_ONCE)
      .execute();
    // A row with a termination date does not keep its employee.
    const active = rows.filter(({ field_hashes }) => !hasField(field_hashes, 'termination_date'));
    const ids = active.map(({ employee_id }) => employee_id);
    const roster = await rosterOf(db, ids);
    gone.push(...ids.filter((id) => isElsewhere(roster.get(id) ?? [], employer_id, viewer)));
    after = rows.length < ROWS_AT_ONCE ? undefined : rows.at(-1)?.employee_id;
  }
  return listOf(gone);
}
