import type { ExpressionBuilder } from 'kysely';
import type { Db, Tables } from '../database/tables.ts';
import type { Version } from './fold.ts';
import { historyOf, historyPage } from './history.ts';
import { employerOf, type RosterFact, rosterOf } from './roster.ts';
import { appliesOn, knownAt, latestOf, stateOn } from './state.ts';

/** A state of a deduction and whose it is. `employerId` is null for an unknown or ambiguous employee. */
export type DeductionState = { version: Version; employerId: string | null; matched: boolean };

/** Which deductions; everything given must hold. `on` is a day, `knownAt` an instant in milliseconds UTC. */
export type DeductionFilter = {
  employerId?: string | undefined;
  employeeId?: string | undefined;
  /** Whether the employee is in the roster. */
  matched?: boolean | undefined;
  lineOfCoverage?: string | undefined;
  taxability?: string | undefined;
  on?: string | undefined;
  knownAt?: string | undefined;
};

/** Where a page ended: deductions are listed by employee, then by deduction id. */
export type DeductionCursor = { employeeId: string; deductionId: string };

/** Candidates looked at together; their ids become parameters of one statement. */
const CANDIDATES = 200;

/**
 * A page of deductions: their latest state, or with `on` the state that is in effect on that day, from what was
 * known at `knownAt`. `today` decides the employer where no day is given. `next` continues the list.
 */
export async function listDeductions(
  db: Db,
  filter: DeductionFilter,
  page: { after?: DeductionCursor | undefined; limit: number },
  today: string,
): Promise<{ deductions: DeductionState[]; next: DeductionCursor | null }> {
  const deductions: DeductionState[] = [];
  let after = page.after;
  // One more than asked for tells whether the list goes on; a filter that drops some has its next look wider.
  let count = Math.min(page.limit + 1, CANDIDATES);
  for (;;) {
    const candidates = await candidatesAfter(db, filter, after, count);
    const states = await statesOf(db, candidates, filter, today);
    for (const candidate of candidates) {
      const state = states.get(candidate.deduction_id);
      // A deduction that changed hands is a candidate for every employee that it ever had.
      if (state?.version.employee_id === candidate.employee_id) {
        if (deductions.length === page.limit) return { deductions, next: after ?? null };
        deductions.push(state);
      }
      after = { employeeId: candidate.employee_id, deductionId: candidate.deduction_id };
    }
    if (candidates.length < count) return { deductions, next: null };
    count = CANDIDATES;
    // A filter that few pass may walk through them all: other work of this thread has its turn in between.
    await new Promise(setImmediate);
  }
}

/** The latest state of one deduction, or null when the ledger has none of that id. */
export async function getDeduction(
  db: Db,
  deductionId: string,
  today: string,
): Promise<DeductionState | null> {
  const version = await db
    .selectFrom('deductions')
    .innerJoin('versions', 'versions.position', 'deductions.position')
    .where('deductions.deduction_id', '=', deductionId)
    .selectAll('versions')
    .executeTakeFirst();
  if (version === undefined) return null;
  const [state] = await withEmployers(db, [version], today);
  return state ?? null;
}

/**
 * A page of the versions of one deduction, oldest position first, from behind `after` (a position); none when the id
 * is unknown. `next` continues the list.
 */
export async function versionsOf(
  db: Db,
  deductionId: string,
  page: { after?: number | undefined; limit: number },
  today: string,
): Promise<{ versions: DeductionState[]; next: number | null }> {
  const rows = await historyPage(db, deductionId, { after: page.after ?? 0, limit: page.limit + 1 });
  const versions = rows.slice(0, page.limit);
  const next = rows.length > page.limit ? (versions.at(-1) as Version).position : null;
  return { versions: await withEmployers(db, versions, today), next };
}

/** The change feed: versions of all deductions behind a position, in commit order, each once. */
export async function versionsAfter(
  db: Db,
  position: number,
  limit: number,
  today: string,
): Promise<DeductionState[]> {
  const versions = await db
    .selectFrom('versions')
    .selectAll()
    .where('position', '>', position)
    .orderBy('position')
    .limit(limit)
    .execute();
  return withEmployers(db, versions, today);
}

type Candidate = Tables['deduction_employees'];

function candidatesAfter(
  db: Db,
  filter: DeductionFilter,
  after: DeductionCursor | undefined,
  count: number,
): Promise<Candidate[]> {
  const behind = (eb: ExpressionBuilder<Tables, 'deduction_employees'>) =>
    after === undefined
      ? eb.lit(true)
      : eb(
          eb.refTuple('deduction_employees.employee_id', 'deduction_employees.deduction_id'),
          '>',
          eb.tuple(after.employeeId, after.deductionId),
        );
  const { employerId, employeeId } = filter;
  return db
    .selectFrom('deduction_employees')
    .$if(employerId !== undefined, (query) =>
      query.where('deduction_employees.employee_id', 'in', (eb) =>
        eb
          .selectFrom('roster')
          .select('roster.employee_id')
          .where('roster.employer_id', '=', employerId as string)
          .$if(after !== undefined, (roster) =>
            roster.where('roster.employee_id', '>=', (after as DeductionCursor).employeeId),
          ),
      ),
    )
    .$if(employeeId !== undefined, (query) =>
      query.where('deduction_employees.employee_id', '=', employeeId as string),
    )
    .where(behind)
    .selectAll('deduction_employees')
    .orderBy('deduction_employees.employee_id')
    .orderBy('deduction_employees.deduction_id')
    .limit(count)
    .execute();
}

/** The states of the candidates that pass the filter, by deduction. */
async function statesOf(
  db: Db,
  candidates: readonly Candidate[],
  filter: DeductionFilter,
  today: string,
): Promise<Map<string, DeductionState>> {
  const ids = [...new Set(candidates.map((candidate) => candidate.deduction_id))];
  const history = await historyOf(db, ids);
  const instant = filter.knownAt;
  const known = instant === undefined ? history : knownAt(history, instant);
  const states = [...Map.groupBy(known, (version) => version.deduction_id).values()]
    .map((versions) => (filter.on === undefined ? latestOf(versions) : stateOn(versions, filter.on)))
    .filter((version) => version !== null)
    .filter((version) => filter.on === undefined || appliesOn(version, filter.on));
  const employed = await withEmployers(db, states, filter.on ?? today, instant);
  return new Map(
    employed.filter((state) => passes(state, filter)).map((state) => [state.version.deduction_id, state]),
  );
}

function passes({ version, employerId, matched }: DeductionState, filter: DeductionFilter): boolean {
  return (
    (filter.employerId === undefined || employerId === filter.employerId) &&
    (filter.employeeId === undefined || version.employee_id === filter.employeeId) &&
    (filter.matched === undefined || matched === filter.matched) &&
    (filter.lineOfCoverage === undefined || version.line_of_coverage === filter.lineOfCoverage) &&
    (filter.taxability === undefined || version.taxability === filter.taxability)
  );
}

async function withEmployers(
  db: Db,
  versions: readonly Version[],
  day: string,
  instant?: string,
): Promise<DeductionState[]> {
  const employees = [...new Set(versions.map((version) => version.employee_id))];
  const roster = await rosterOf(db, employees, instant);
  return versions.map((version) => {
    const facts: readonly RosterFact[] = roster.get(version.employee_id) ?? [];
    return { version, employerId: employerOf(facts, day), matched: facts.length > 0 };
  });
}
