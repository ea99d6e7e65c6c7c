import type { ExpressionBuilder } from 'kysely';
import { piecesOf } from '../database/bulk.ts';
import type { Db, StartDecisionTable, Tables } from '../database/tables.ts';
import { employerOf, employmentsOf } from './employment.ts';
import type { Version } from './fold.ts';
import { type HistoryOrder, historyOf, historyPage } from './history.ts';
import { rosterOf } from './roster.ts';
import { decisionsInForce, startDecisionsOf } from './start-decisions.ts';
import { appliesOn, knownAt, latestOf, stateOn, timelineOf } from './state.ts';

/** A deduction's state and its employer. `employerId` is null for an unknown or ambiguous employee. */
export type DeductionState = { version: Version; employerId: string | null; matched: boolean };

/** `startDecision`: the decision in force on the version's moved start, or null. */
export type VersionState = DeductionState & { startDecision: StartDecisionTable | null };

/** All given conditions apply. `on` is a date, `knownAt` a time in milliseconds UTC. */
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
/** Candidates per statement if the statement itself excludes most of them: up to 30 ms. */
const CANDIDATES_AT_ONCE = 5_000;
/** The cost limit of a page, in keys read: about 100 ms. A selective filter would read the whole ledger. */
const PAGE_COST_MAX = 100_000;
/** The cost of a candidate whose states are read, in keys. */
const STATE_COST = 30;
/** The cost of a candidate whose latest state is checked, in keys of less than a microsecond. */
const LATEST_COST = 8;

/**
 * Returns a page of deductions: their latest state, or with `on` the state in effect on that date, from what
 * was known at `knownAt`. Without `on`, `today` decides the employer. `next` continues the list; a page can
 * have fewer than `limit` deductions, even none, and still continue.
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
  // One more shows whether the list continues. A filter that excludes candidates reads more next time.
  let count = Math.min(page.limit + 1, STATES_AT_ONCE);
  for (;;) {
    const candidates = await candidatesAfter(db, filter, after, count);
    const passing = candidates.filter(({ may_pass }) => may_pass);
    for (const some of piecesOf(passing, STATES_AT_ONCE)) {
      const ids = [...new Set(some.map((candidate) => candidate.deduction_id))];
      const states = await statesOf(db, ids, filter, today);
      for (const candidate of some) {
        const state = states.get(candidate.deduction_id);
        // A deduction that moved to another employee is a candidate for every employee it ever had.
        if (state?.version.employee_id === candidate.employee_id) {
          if (deductions.length === page.limit) return { deductions, next: after ?? null };
          deductions.push(state);
        }
        after = { employeeId: candidate.employee_id, deductionId: candidate.deduction_id };
      }
      cost += some.length * STATE_COST;
      // Lets other work of this thread run.
      await new Promise(setImmediate);
    }
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < count) return { deductions, next: null };
    after = { employeeId: last.employee_id, deductionId: last.deduction_id };
    cost += candidates.length * (asksOfLatest(filter) ? LATEST_COST : 1);
    if (cost >= PAGE_COST_MAX) return { deductions, next: after };
    // The statement may exclude candidates before their states are read.
    count = asksOfRoster(filter) || asksOfLatest(filter) ? CANDIDATES_AT_ONCE : STATES_AT_ONCE;
    await new Promise(setImmediate);
  }
}

/** Returns the latest state of a deduction, or null if there is none with this id. */
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

/** Returns the state of a deduction on a date, from what was known at a time, or null if there was none. */
export async function getDeductionThen(
  db: Db,
  deductionId: string,
  then: Pick<DeductionFilter, 'on' | 'knownAt'>,
  today: string,
): Promise<DeductionState | null> {
  return (await statesOf(db, [deductionId], then, today)).get(deductionId) ?? null;
}

/** Returns a page of a deduction's versions after the position `after`, by default oldest first. */
export async function versionsOf(
  db: Db,
  deductionId: string,
  page: { after?: number | undefined; limit: number; order?: HistoryOrder | undefined },
  today: string,
): Promise<{ versions: VersionState[]; next: number | null }> {
  const { after = null, limit, order = 'oldest_first' } = page;
  const rows = await historyPage(db, deductionId, { after, limit: limit + 1, order });
  const versions = rows.slice(0, page.limit);
  const next = rows.length > page.limit ? (versions.at(-1) as Version).position : null;
  return { versions: await withDecisions(db, versions, today), next };
}

/** Returns the change feed: versions of all deductions after a position, each once, in commit order. */
export async function versionsAfter(
  db: Db,
  position: number,
  limit: number,
  today: string,
): Promise<VersionState[]> {
  const versions = await db
    .selectFrom('deduction_versions')
    .selectAll()
    .where('position', '>', position)
    .orderBy('position')
    .limit(limit)
    .execute();
  return withDecisions(db, versions, today);
}

/** Returns the states of the deductions that pass the filter, by deduction. */
async function statesOf(db: Db, ids: readonly string[], filter: DeductionFilter, today: string) {
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

async function withDecisions(db: Db, versions: readonly Version[], today: string): Promise<VersionState[]> {
  const decisions = await decisionsInForce(db, versions);
  const states = await withEmployers(db, versions, today);
  const decided = (version: Version) => decisions.get(version.position) ?? null;
  return states.map((state) => ({ ...state, startDecision: decided(state.version) }));
}

async function withEmployers(db: Db, versions: readonly Version[], day: string, instant?: string) {
  const employees = [...new Set(versions.map((version) => version.employee_id))];
  const roster = await rosterOf(db, employees, instant);
  return versions.map((version) => {
    const employments = employmentsOf(roster.get(version.employee_id) ?? []);
    return { version, employerId: employerOf(employments, day), matched: employments.length > 0 };
  });
}

/** A deduction under an employee that it has or ever had. */
type Candidate = Tables['deduction_employees'] & {
  /** False if the latest state or the current roster already excludes it. */
  readonly may_pass: boolean;
};

/** Returns the next `count` candidates after a cursor, by employee and deduction id. */
async function candidatesAfter(
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
    .$if(after !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) => {
        const { employeeId, deductionId } = after as DeductionCursor;
        const place = refTuple('deduction_employees.employee_id', 'deduction_employees.deduction_id');
        return eb(place, '>', tuple(employeeId, deductionId));
      }),
    )
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
  // SQLite has no boolean type.
  return rows.map((row) => ({ ...row, may_pass: Boolean(row.may_pass) }));
}

/** Applies to the current roster only; an earlier one is read with the states. */
function asksOfRoster({ matched, knownAt }: DeductionFilter): boolean {
  return matched !== undefined && knownAt === undefined;
}

/** Applies to the latest state only; the state on a date or from earlier knowledge may differ. */
function asksOfLatest({ on, knownAt, lineOfCoverage, taxability }: DeductionFilter): boolean {
  return on === undefined && knownAt === undefined && (lineOfCoverage ?? taxability) !== undefined;
}

type Next = ExpressionBuilder<Tables & { next: Tables['deduction_employees'] }, 'next'>;

function mayPass(eb: Next, filter: DeductionFilter) {
  const { matched, lineOfCoverage, taxability } = filter;
  const facts = eb.selectFrom('roster').select(eb.lit(1).as('one'));
  const inRoster = eb.exists(facts.whereRef('roster.employee_id', '=', 'next.employee_id'));
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
