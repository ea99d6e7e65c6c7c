import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { piecesOf } from '../database/bulk.ts';
import type { Db, Tables } from '../database/tables.ts';
import { employerOf, employmentsOf } from './employment.ts';
import type { Version } from './fold.ts';
import { type HistoryOrder, historyOf, historyPage } from './history.ts';
import { rosterOf } from './roster.ts';
import { startDecisionsOf } from './start-decisions.ts';
import { appliesOn, knownAt, latestOf, stateOn, timelineOf } from './state.ts';

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

/** Candidates whose states are read together. */
const STATES_AT_ONCE = 200;
/** Candidates of one statement where it tells most of them apart: up to 30 ms. */
const CANDIDATES_AT_ONCE = 5_000;
/** What a page may cost, in keys that are read: some 100 ms. A filter that few pass would walk through a whole ledger. */
const PAGE_COST_MAX = 100_000;
/** A candidate whose states are read, in keys. */
const STATE_COST = 30;

/**
 * A page of deductions: their latest state, or with `on` the state that is in effect on that day, from what was
 * known at `knownAt`. `today` decides the employer where no day is given. `next` continues the list: a page may have
 * less than `limit`, even nothing, and yet go on, when many had to be looked at.
 */
export async function listDeductions(
  db: Db,
  filter: DeductionFilter,
  page: { after?: DeductionCursor | undefined; limit: number },
  today: string,
): Promise<{ deductions: DeductionState[]; next: DeductionCursor | null }> {
  const deductions: DeductionState[] = [];
  let after = page.after;
  let cost = 0;
  // One more than asked for tells whether the list goes on; a filter that drops some has its next look wider.
  let count = Math.min(page.limit + 1, STATES_AT_ONCE);
  for (;;) {
    const candidates = await candidatesAfter(db, filter, after, count);
    const passing = candidates.filter(({ may_pass }) => may_pass);
    for (const some of piecesOf(passing, STATES_AT_ONCE)) {
      const states = await statesOf(db, idsOf(some), filter, today);
      for (const candidate of some) {
        const state = states.get(candidate.deduction_id);
        // A deduction that changed hands is a candidate for every employee that it ever had.
        if (state?.version.employee_id === candidate.employee_id) {
          if (deductions.length === page.limit) return { deductions, next: after ?? null };
          deductions.push(state);
        }
        after = { employeeId: candidate.employee_id, deductionId: candidate.deduction_id };
      }
      cost += some.length * STATE_COST;
      // A filter that few pass may walk through many: other work of this thread has its turn in between.
      await new Promise(setImmediate);
    }
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < count) return { deductions, next: null };
    after = { employeeId: last.employee_id, deductionId: last.deduction_id };
    cost += candidates.length * candidateCost(filter);
    if (cost >= PAGE_COST_MAX) return { deductions, next: after };
    count = isToldEarly(filter) ? CANDIDATES_AT_ONCE : STATES_AT_ONCE;
    await new Promise(setImmediate);
  }
}

function idsOf(candidates: readonly Candidate[]): string[] {
  return [...new Set(candidates.map((candidate) => candidate.deduction_id))];
}

/** The latest state of one deduction, or null when the ledger has none of that id. */
export async function getDeduction(
  db: Db,
  deductionId: string,
  today: string,
): Promise<DeductionState | null> {
  const version = await db
    .selectFrom('deductions')
    .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.position')
    .where('deductions.deduction_id', '=', deductionId)
    .selectAll('deduction_versions')
    .executeTakeFirst();
  if (version === undefined) return null;
  const [state] = await withEmployers(db, [version], today);
  return state ?? null;
}

/**
 * The state of one deduction as `listDeductions` would show it: in effect on a day, from what was known at an instant.
 * Null when there was none.
 */
export async function getDeductionThen(
  db: Db,
  deductionId: string,
  then: Pick<DeductionFilter, 'on' | 'knownAt'>,
  today: string,
): Promise<DeductionState | null> {
  return (await statesOf(db, [deductionId], then, today)).get(deductionId) ?? null;
}

/**
 * A page of the versions of one deduction, oldest position first unless it says otherwise, from behind `after` (a
 * position); none when the id is unknown. `next` continues the list.
 */
export async function versionsOf(
  db: Db,
  deductionId: string,
  page: { after?: number | undefined; limit: number; order?: HistoryOrder | undefined },
  today: string,
): Promise<{ versions: DeductionState[]; next: number | null }> {
  const { after = null, limit, order = 'oldest_first' } = page;
  const rows = await historyPage(db, deductionId, { after, limit: limit + 1, order });
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
    .selectFrom('deduction_versions')
    .selectAll()
    .where('position', '>', position)
    .orderBy('position')
    .limit(limit)
    .execute();
  return withEmployers(db, versions, today);
}

/** The states of the deductions that pass the filter, by deduction. */
async function statesOf(
  db: Db,
  ids: readonly string[],
  filter: DeductionFilter,
  today: string,
): Promise<Map<string, DeductionState>> {
  const history = await historyOf(db, ids);
  const instant = filter.knownAt;
  const decisions = filter.on === undefined ? new Map() : await startDecisionsOf(db, ids);
  const known = <Row extends { recorded_at: string }>(rows: readonly Row[]) =>
    instant === undefined ? rows : knownAt(rows, instant);
  const states = [...Map.groupBy(known(history), (version) => version.deduction_id)]
    .map(([id, versions]) =>
      filter.on === undefined
        ? latestOf(versions)
        : stateOn(timelineOf(versions, known(decisions.get(id) ?? [])).counting, filter.on),
    )
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
    const employments = employmentsOf(roster.get(version.employee_id) ?? []);
    return { version, employerId: employerOf(employments, day), matched: employments.length > 0 };
  });
}

/** Which deductions a list has to look at, in its order, and which of them cannot pass its filters. */
/** A deduction under an employee that it has, or ever had. */
export type Candidate = Tables['deduction_employees'] & {
  /** False: its latest state, or the roster of now, says already that it is not in the list. */
  readonly may_pass: boolean;
};

/** The next `count` candidates behind a place, by employee, then by deduction id. */
export async function candidatesAfter(
  db: Db,
  filter: DeductionFilter,
  after: DeductionCursor | undefined,
  count: number,
): Promise<Candidate[]> {
  const { employerId, employeeId } = filter;
  const next = db
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
    .where((eb) => behind(eb, after))
    .selectAll('deduction_employees')
    .orderBy('deduction_employees.employee_id')
    .orderBy('deduction_employees.deduction_id')
    .limit(count)
    .as('next');
  const rows = await db
    .selectFrom(next)
    .selectAll('next')
    .select((eb) => mayPass(eb, filter).as('may_pass'))
    .orderBy('next.employee_id')
    .orderBy('next.deduction_id')
    .execute();
  // SQLite has no type for truth.
  return rows.map((row) => ({ ...row, may_pass: Boolean(row.may_pass) }));
}

/** A candidate whose latest state is asked, in those of whom only the key is read. */
const LATEST_COST = 8;

/** What one candidate costs before its states are read: 1 is a key, less than a microsecond. */
export function candidateCost(filter: DeductionFilter): number {
  return asksOfLatest(filter) ? LATEST_COST : 1;
}

/** Whether some candidates are told apart before their states are read, which costs more. */
export function isToldEarly(filter: DeductionFilter): boolean {
  return asksOfRoster(filter) || asksOfLatest(filter);
}

/** Of the roster of now: that of an earlier time is read with the states. */
function asksOfRoster({ matched, knownAt }: DeductionFilter): boolean {
  return matched !== undefined && knownAt === undefined;
}

/** Of the latest state: that of a day, or of an earlier knowledge, may be another. */
function asksOfLatest({ on, knownAt, lineOfCoverage, taxability }: DeductionFilter): boolean {
  return on === undefined && knownAt === undefined && (lineOfCoverage ?? taxability) !== undefined;
}

function behind(
  eb: ExpressionBuilder<Tables, 'deduction_employees'>,
  after: DeductionCursor | undefined,
): Expression<SqlBool> {
  if (after === undefined) return eb.lit(true);
  return eb(
    eb.refTuple('deduction_employees.employee_id', 'deduction_employees.deduction_id'),
    '>',
    eb.tuple(after.employeeId, after.deductionId),
  );
}

type Next = ExpressionBuilder<Tables & { next: Tables['deduction_employees'] }, 'next'>;

function mayPass(eb: Next, filter: DeductionFilter) {
  const { matched, lineOfCoverage, taxability } = filter;
  const inRoster = eb.exists(
    eb
      .selectFrom('roster')
      .select(eb.lit(1).as('one'))
      .whereRef('roster.employee_id', '=', 'next.employee_id'),
  );
  const latest = eb.exists(
    eb
      .selectFrom('deductions')
      .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.position')
      .select(eb.lit(1).as('one'))
      .whereRef('deductions.deduction_id', '=', 'next.deduction_id')
      .$if(lineOfCoverage !== undefined, (query) =>
        query.where('deduction_versions.line_of_coverage', '=', lineOfCoverage as string),
      )
      .$if(taxability !== undefined, (query) =>
        query.where('deduction_versions.taxability', '=', taxability as string),
      ),
  );
  return eb.and([
    ...(asksOfRoster(filter) ? [matched === true ? inRoster : eb.not(inRoster)] : []),
    ...(asksOfLatest(filter) ? [latest] : []),
  ]);
}
