/** Deductions and their versions: lists, and states on a date. */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { piecesOf, startsWithOneOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import { assignedEmployer, assignmentsOf } from './assignments.ts';
import { employerOf, employmentsOf } from './employment.ts';
import type { Version } from './fold.ts';
import { type HistoryOrder, historyOf, historyPage } from './history.ts';
import { endedBy, PLACEHOLDER_IDS, type Replacement, replacementsOf } from './placeholders.ts';
import { latestVersions } from './record.ts';
import { createRosterReader, type ReadRoster } from './roster.ts';
import { appliesOn, knownAt, latestOf, stateOn, timelineOf } from './state.ts';
import { OF_ANOTHER_EMPLOYER, type Viewer, visibleVersions } from './visibility.ts';

/**
 * A deduction's state and its employer: the one it is assigned to, or else its employee's. `employerId` is null for an
 * unknown or ambiguous employee. `placeholder`: null for a deduction with an id of the service.
 */
export type DeductionState = {
  version: Version;
  employerId: string | null;
  matched: boolean;
  placeholder: { replacement: Replacement | null } | null;
};

/**
 * All given conditions apply. `matched`: the employee is in the roster. `knownAt` is in milliseconds UTC. `viewer`: only what
 * a limited caller may see; null or none for all.
 */
export type DeductionFilter = {
  viewer?: Viewer | null;
  employerId?: string | undefined;
  employeeId?: string | undefined;
  matched?: boolean | undefined;
  lineOfCoverage?: string | undefined;
  taxability?: string | undefined;
  placeholder?: 'open' | 'replaced' | undefined;
  on?: string | undefined;
  knownAt?: string | undefined;
};

/** Where a page ended: deductions are listed by employee, then by deduction id. */
export type DeductionCursor = { employeeId: string; deductionId: string };

/** Candidates whose states are read together. */
const STATES_AT_ONCE = 200;
/** Candidates per statement if SQL conditions exclude most of them: up to 30 ms. */
const CANDIDATES_AT_ONCE = 5_000;
/** The cost limit of a page, in keys read: about 100 ms. A selective filter would read the whole ledger. */
const PAGE_COST_MAX = 100_000;
/** The cost of reading a candidate's states, and of checking its latest one, in keys of less than a microsecond. */
const STATE_COST = 30;
const LATEST_COST = 8;

/**
 * Returns a page of deductions: their latest state, or with `on` the state in effect on that date, from what was known
 * at `knownAt`. Without `on`, `today` decides the employer. A page can have no deductions and still continue at `next`.
 */
export async function listDeductions(
  db: Db,
  filter: DeductionFilter,
  page: { after?: DeductionCursor | undefined; limit: number },
  today: string,
): Promise<{ deductions: DeductionState[]; next: DeductionCursor | null }> {
  const deductions: DeductionState[] = [];
  const { viewer = null, employerId } = filter;
  if (viewer !== null && employerId !== undefined && !viewer.employers.includes(employerId))
    return { deductions, next: null };
  const { conditions, cost: candidateCost } = prefilterOf(filter);
  let after = page.after;
  let cost = 0;
  // One more shows whether the list continues. A filter that excludes candidates reads more next time.
  let count = Math.min(page.limit + 1, STATES_AT_ONCE);
  for (;;) {
    const candidates = await candidatesAfter(db, filter, conditions, count, after);
    const passing = candidates.filter(({ may_pass }) => may_pass);
    for (const some of piecesOf(passing, STATES_AT_ONCE)) {
      const ids = [...new Set(some.map(({ deduction_id }) => deduction_id))];
      const states = await statesOf(db, ids, filter, today);
      for (const { employee_id: employeeId, deduction_id: deductionId } of some) {
        const state = states.get(deductionId);
        // A deduction that moved to another employee is a candidate for every employee it ever had.
        if (state?.version.employee_id === employeeId) {
          if (deductions.length === page.limit)
            return { deductions, next: nextOf(deductions, viewer, after) };
          deductions.push(state);
        }
        after = { employeeId, deductionId };
      }
      cost += some.length * STATE_COST;
      // Lets other work of this thread run.
      await new Promise(setImmediate);
    }
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < count) return { deductions, next: null };
    after = { employeeId: last.employee_id, deductionId: last.deduction_id };
    cost += candidates.length * candidateCost;
    // The cursor of a limited caller must not name a deduction that it may not see, so its pages are filled.
    if (viewer === null && cost >= PAGE_COST_MAX) return { deductions, next: after };
    count = conditions.length > 0 ? CANDIDATES_AT_ONCE : STATES_AT_ONCE;
    await new Promise(setImmediate);
  }
}

/** Returns where a full page ends: for a limited caller at the last deduction that it contains. */
function nextOf(
  deductions: readonly DeductionState[],
  viewer: Viewer | null,
  after: DeductionCursor | undefined,
): DeductionCursor | null {
  const last = deductions.at(-1)?.version;
  if (viewer === null || last === undefined) return after ?? null;
  return { employeeId: last.employee_id, deductionId: last.deduction_id };
}

/** Returns the latest state of a deduction, or its state `then`; null if there is or was none. */
export async function getDeduction(
  db: Db,
  deductionId: string,
  today: string,
  then: Pick<DeductionFilter, 'on' | 'knownAt' | 'viewer'> = {},
): Promise<DeductionState | null> {
  return (await statesOf(db, [deductionId], then, today)).get(deductionId) ?? null;
}

/**
 * Returns the latest states of the first `limit` deductions, by id, whose id starts with one of `texts`. Leaves out those
 * that `viewer` may not see.
 */
export async function deductionsStartingWith(
  db: Db,
  texts: readonly string[],
  { viewer, today, limit }: { viewer: Viewer | null; today: string; limit: number },
): Promise<DeductionState[]> {
  const deductions: DeductionState[] = [];
  const employers = viewer?.employers ?? null;
  const isOfViewer = sql`employee_id in (
    select employee_id from roster where employer_id in (${sql.join(employers ?? [])}))`;
  const count = viewer === null ? limit : CANDIDATES_AT_ONCE;
  // With a lower bound from the first page on, SQLite reads in the order of the key and sorts nothing.
  for (let after = ''; ; ) {
    const { rows } = await sql<{ deduction_id: string; may_pass: unknown }>`
      select deduction_id, ${employers === null ? sql`true` : isOfViewer} as may_pass
      from (
        select deduction_id, employee_id from deductions
        where ${startsWithOneOf('deduction_id', texts)} and deduction_id > ${after}
        order by deduction_id limit ${count}
      ) as next
      order by deduction_id`.execute(db);
    const ids = rows.filter(({ may_pass }) => may_pass).map(({ deduction_id }) => deduction_id);
    for (const some of piecesOf(ids, limit)) {
      deductions.push(...(await statesOf(db, some, { viewer }, today)).values());
      if (deductions.length >= limit) return deductions.slice(0, limit);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < count) return deductions;
    after = last.deduction_id;
    // Lets other work of this thread run.
    await new Promise(setImmediate);
  }
}

/** Returns a page of a deduction's versions after the position `after`, by default oldest first. */
export async function versionsOf(
  db: Db,
  deductionId: string,
  page: { after?: number | undefined; limit: number; order?: HistoryOrder | undefined },
  today: string,
  viewer: Viewer | null = null,
): Promise<{ versions: DeductionState[]; next: number | null }> {
  const { limit, order = 'oldest_first' } = page;
  const reading = createReading(db, viewer);
  const rows: Version[] = [];
  for (let after = page.after ?? null; rows.length <= limit; ) {
    const read = await historyPage(db, deductionId, { after, limit: limit + 1, order });
    rows.push(...(await seenVersions(reading, read)));
    if (read.length <= limit) break;
    after = (read.at(-1) as Version).position;
  }
  const versions = rows.slice(0, limit);
  const next = rows.length > limit ? (versions.at(-1) as Version).position : null;
  return { versions: await withEmployers(reading, versions, { day: today }), next };
}

/** The database and the caller of one response. `readRoster` reads each employee once, for the employer and for visibility. */
type Reading = { readonly db: Db; readonly viewer: Viewer | null; readonly readRoster: ReadRoster };

export function createReading(db: Db, viewer: Viewer | null): Reading {
  return { db, viewer, readRoster: createRosterReader(db) };
}

/** Returns the versions that the caller may see. */
export async function seenVersions(
  { db, viewer, readRoster }: Reading,
  versions: readonly Version[],
): Promise<readonly Version[]> {
  return viewer === null ? versions : visibleVersions(db, versions, viewer, readRoster);
}

/** Returns the change feed: versions of all deductions after a position, each once, in commit order. */
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
  return withEmployers(createReading(db, null), versions, { day: today });
}

async function statesOf(db: Db, ids: readonly string[], filter: DeductionFilter, today: string) {
  const { on, knownAt: instant, viewer = null } = filter;
  const reading = createReading(db, viewer);
  const isLatest = on === undefined && instant === undefined;
  const versions = isLatest ? await versionsNow(reading, ids) : await versionsThen(reading, ids, filter);
  const employed = await withEmployers(reading, versions, { day: on ?? today, instant });
  return new Map(
    employed
      .filter((state) => passes(state, filter, today))
      .map((state) => [state.version.deduction_id, state]),
  );
}

/** Returns the latest version of each deduction that the caller may see. */
async function versionsNow(reading: Reading, ids: readonly string[]) {
  return seenVersions(
    reading,
    await latestVersions(reading.db, ids).selectAll('deduction_versions').execute(),
  );
}

/** Returns each deduction's version in effect on a date, or without one the latest, as known at an instant. */
async function versionsThen(
  reading: Reading,
  ids: readonly string[],
  { on, knownAt: instant }: DeductionFilter,
) {
  const { db } = reading;
  const history = await seenVersions(reading, await historyOf(db, ids));
  const known = knownAt(history, instant);
  const replacements = on === undefined ? new Map() : await replacementsOf(db, known, instant);
  return [...Map.groupBy(known, (version) => version.deduction_id)].flatMap(([id, versions]) => {
    if (on === undefined) return latestOf(versions) ?? [];
    const state = stateOn(endedBy(timelineOf(versions).counting, replacements.get(id) ?? null), on);
    return state !== null && appliesOn(state, on) ? state : [];
  });
}

function passes(state: DeductionState, filter: DeductionFilter, today: string): boolean {
  const { version, employerId, matched, placeholder } = state;
  return (
    (filter.placeholder !== 'open' || isOpen(state, today)) &&
    (filter.placeholder !== 'replaced' || placeholder?.replacement != null) &&
    (filter.employerId === undefined || employerId === filter.employerId) &&
    (filter.employeeId === undefined || version.employee_id === filter.employeeId) &&
    (filter.matched === undefined || matched === filter.matched) &&
    (filter.lineOfCoverage === undefined || version.line_of_coverage === filter.lineOfCoverage) &&
    (filter.taxability === undefined || version.taxability === filter.taxability)
  );
}

/** Returns whether a state is of a placeholder that nothing replaces and that did not end before today. */
export function isOpen({ version: { ends_on }, placeholder }: DeductionState, today: string): boolean {
  return placeholder?.replacement === null && (ends_on === null || ends_on >= today);
}

/** Adds the employer on a day, and what replaces a placeholder. A limited caller does not see other employers. */
export async function withEmployers(
  { db, viewer, readRoster }: Reading,
  versions: readonly Version[],
  { day, instant }: { day: string; instant?: string | undefined },
) {
  const known = <Row extends { recorded_at: string }>(rows: readonly Row[]) => knownAt(rows, instant);
  const roster = await readRoster(versions.map(({ employee_id }) => employee_id));
  const assignments = await assignmentsOf(db, [...new Set(versions.map((version) => version.deduction_id))]);
  const seen = await seenReplacements({ db, viewer, readRoster }, versions, instant);
  return versions.map((version) => {
    const employments = employmentsOf(known(roster.get(version.employee_id) ?? []));
    const assigned = assignedEmployer(known(assignments.get(version.deduction_id) ?? []), day);
    const employerId = assigned ?? employerOf(employments, day);
    const isHidden = viewer !== null && !viewer.employers.includes(employerId ?? '');
    const replacement = seen.get(version.deduction_id);
    return {
      version,
      employerId: isHidden ? null : employerId,
      matched: employments.length > 0,
      placeholder: replacement === undefined ? null : { replacement },
    };
  });
}

/** Returns what replaces the placeholders among the versions. A limited caller does not see the deductions of other employers. */
async function seenReplacements(
  { db, viewer, readRoster }: Reading,
  versions: readonly Version[],
  instant: string | undefined,
): Promise<ReadonlyMap<string, Replacement | null>> {
  const replacements = await replacementsOf(db, versions, instant);
  if (viewer === null || replacements.size === 0) return replacements;
  const named = versions.flatMap(({ deduction_id, employee_id }) => {
    const replacement = replacements.get(deduction_id);
    return replacement == null ? [] : [{ deduction_id: replacement.deduction_id, employee_id }];
  });
  const visible = await visibleVersions(db, named, viewer, readRoster);
  const ids = new Set(visible.map(({ deduction_id }) => deduction_id));
  return new Map(
    [...replacements].map(([id, replacement]) => {
      const isHidden = replacement !== null && !ids.has(replacement.deduction_id);
      return [id, isHidden ? { ...replacement, deduction_id: OF_ANOTHER_EMPLOYER } : replacement];
    }),
  );
}

/** Returns the SQL conditions that exclude candidates `next`, and the cost of checking one. */
function prefilterOf({ matched, on, knownAt, lineOfCoverage, taxability, placeholder }: DeductionFilter) {
  const conditions: RawBuilder<SqlBool>[] = [];
  if (placeholder !== undefined) {
    const [from, until] = PLACEHOLDER_IDS;
    conditions.push(sql`next.deduction_id >= ${from} and next.deduction_id < ${until}`);
  }
  // An earlier roster may differ from the current one, which is read here.
  if (matched !== undefined && knownAt === undefined) {
    const isListed = sql<SqlBool>`exists (select 1 from roster where roster.employee_id = next.employee_id)`;
    conditions.push(matched ? isListed : sql`not ${isListed}`);
  }
  // The state on a date, or from earlier knowledge, may differ from the latest one.
  const wanted = Object.entries({ line_of_coverage: lineOfCoverage, taxability })
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => sql`${sql.ref(`deduction_versions.${column}`)} = ${value}`);
  const asksOfLatest = on === undefined && knownAt === undefined && wanted.length > 0;
  if (asksOfLatest) {
    conditions.push(sql`exists (
      select 1 from deductions join deduction_versions on deduction_versions.position = deductions.position
      where deductions.deduction_id = next.deduction_id and ${sql.join(wanted, sql` and `)})`);
  }
  return { conditions, cost: asksOfLatest ? LATEST_COST : 1 };
}

/** Returns the next `count` pairs of an employee and a deduction that names or ever named the employee. */
async function candidatesAfter(
  db: Db,
  { employerId, employeeId, viewer = null }: DeductionFilter,
  conditions: readonly RawBuilder<SqlBool>[],
  count: number,
  after: DeductionCursor = { employeeId: '', deductionId: '' },
) {
  const employers = employerId === undefined ? (viewer?.employers ?? null) : [employerId];
  const isOfEmployer = sql`employee_id in (
    select employee_id from roster where employer_id in (${sql.join(employers ?? [])})
      and employee_id >= ${after.employeeId})`;
  const { rows } = await sql<{ employee_id: string; deduction_id: string; may_pass: unknown }>`
    select next.employee_id, next.deduction_id, ${sql.join([sql`true`, ...conditions], sql` and `)} as may_pass
    from (
      select distinct employee_id, deduction_id from deduction_versions
      where (employee_id, deduction_id) > (${after.employeeId}, ${after.deductionId})
        and ${employers === null ? sql`true` : isOfEmployer}
        and ${employeeId === undefined ? sql`true` : sql`employee_id = ${employeeId}`}
      order by employee_id, deduction_id limit ${count}
    ) as next
    order by next.employee_id, next.deduction_id`.execute(db);
  return rows;
}

/** Reports whether a deduction has ever named an employee. */
export async function hasDeductions(db: Db, employeeId: string): Promise<boolean> {
  const row = await db
    .selectFrom('deduction_versions')
    .select('employee_id')
    .where('employee_id', '=', employeeId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns whether the latest state of any deduction is in effect on `day`. */
export async function isAnyInEffect(db: Db, day: string): Promise<boolean> {
  const found = await db
    .selectFrom('deductions')
    .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.position')
    .select('deductions.deduction_id')
    .where((where) => where.or([where('starts_on', 'is', null), where('starts_on', '<=', day)]))
    .where((where) => where.or([where('ends_on', 'is', null), where('ends_on', '>=', day)]))
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}
