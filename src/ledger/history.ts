import { type SqlBool, sql } from 'kysely';
import { isOneOf, isOneOfSelected, textRows } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import type { Version } from './fold.ts';

/** Returns every version of some deductions, oldest position first, by following their links. */
export async function historyOf(db: Db | Trx, deductionIds: readonly string[]): Promise<Version[]> {
  if (deductionIds.length === 0) return [];
  const newest = sql`
    select last_received_position from deductions where ${isOneOf(db, 'deduction_id', deductionIds)}`;
  // A damaged row could form a circle, so a link must lead to an earlier position.
  const { rows } = await sql<Version>`
    with recursive back as (
      select deduction_versions.* from deduction_versions where ${isOneOfSelected(db, 'position', newest)}
      union all
      select deduction_versions.* from back
      join deduction_versions on deduction_versions.position = back.previous_position
        and deduction_versions.position < back.position
    )
    select * from back order by position`.execute(db);
  return rows;
}

/** Returns the deductions that ever named each of these employees. */
export function deductionsNaming(db: Db | Trx, employees: readonly string[]) {
  return db
    .selectFrom('deduction_versions')
    .select(['employee_id', 'deduction_id'])
    .distinct()
    .where(isOneOf(db, 'employee_id', employees))
    .execute();
}

/** A deduction's versions at one event time, up to a position. */
export type AtTime = { deductionId: string; eventTime: string; until: number };

/** Returns the newest version for each of these. Reads one index entry and one row each. */
export async function versionsAt(db: Db | Trx, times: readonly AtTime[]): Promise<Version[]> {
  if (times.length === 0) return [];
  const wanted = textRows(
    db,
    ['deduction_id', 'event_time', 'until'],
    times.map(({ deductionId, eventTime, until }) => [deductionId, eventTime, String(until)]),
  );
  const positions = sql`
    select (select max(deduction_versions.position) from deduction_versions
      where deduction_versions.event_time = wanted.event_time and deduction_versions.deduction_id = wanted.deduction_id
        and deduction_versions.position <= cast(wanted.until as bigint))
    from ${wanted} as wanted`;
  return db
    .selectFrom('deduction_versions')
    .selectAll()
    .where(isOneOfSelected(db, 'position', positions))
    .execute();
}

export function markedVersions(db: Db | Trx, mark: 'tie_changed' | 'future_dated') {
  return db
    .selectFrom('deduction_versions')
    .select(['deduction_versions.position', 'deduction_versions.event_id', 'deduction_versions.employee_id'])
    .where(`deduction_versions.${mark}`, '=', sql.lit(1 as const));
}

/** The condition of the index `deduction_versions_odd_dates`. SQLite uses the index only for the same text. */
const HAS_ODD_DATES = sql<SqlBool>`(ends_on < starts_on OR ends_on < '2000'
  OR CAST(substr(starts_on, 1, 4) AS INTEGER) >= CAST(substr(recorded_at, 1, 4) AS INTEGER) + 2)`;

/** Selects the latest states with dates that may not be meant, of an employer's employees or of all. */
export function oddlyDatedDeductions(db: Db, employerId: string | undefined) {
  return db
    .selectFrom('deduction_versions')
    .innerJoin('deductions', (join) =>
      join
        .onRef('deductions.deduction_id', '=', 'deduction_versions.deduction_id')
        .onRef('deductions.position', '=', 'deduction_versions.position'),
    )
    .select([
      'deduction_versions.deduction_id',
      'deduction_versions.employee_id',
      'deduction_versions.event_id',
      'starts_on',
      'ends_on',
    ])
    .where(HAS_ODD_DATES)
    .$if(employerId !== undefined, (query) =>
      query.where('deduction_versions.employee_id', 'in', (eb) =>
        eb
          .selectFrom('roster')
          .select('roster.employee_id')
          .where('employer_id', '=', employerId as string),
      ),
    )
    .orderBy('deduction_versions.position');
}

/** Midnight in the states in UTC, from New York in summer to Hawaii. */
const US_MIDNIGHT = /[T ](?:0[4-9]|10):00(?::00(?:\.0+)?)?(?:Z|[+-]00:00)$/i;

/** Returns which of these events end their deduction at a midnight of the United States in UTC: the day before may be meant. */
export async function endingAtMidnight(db: Db, eventIds: readonly string[]): Promise<Set<string>> {
  if (eventIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('deduction_versions')
    .select(['event_id', 'effective_end'])
    .where(isOneOf(db, 'event_id', eventIds))
    .execute();
  const ending = rows.filter(({ effective_end }) => US_MIDNIGHT.test(effective_end ?? ''));
  return new Set(ending.map(({ event_id }) => event_id));
}

export type HistoryOrder = 'oldest_first' | 'newest_first';

/** Returns `limit` versions of a deduction after a position, or from the start. Follows links no further than needed. */
export async function historyPage(
  db: Db,
  deductionId: string,
  { after, limit, order }: { after: number | null; limit: number; order: HistoryOrder },
): Promise<Version[]> {
  const isNewestFirst = order === 'newest_first';
  const oldest = isNewestFirst ? 0 : (after ?? 0);
  const before = isNewestFirst && after !== null ? after : Number.MAX_SAFE_INTEGER;
  const inOrder = isNewestFirst ? sql`order by position desc` : sql`order by position`;
  // A history may have a million versions, so only the rows of the page are read with all columns.
  const { rows } = await sql<Version>`
    with recursive links as (
      select position, previous_position from deduction_versions where position > ${oldest}
        and position = (select last_received_position from deductions where deduction_id = ${deductionId})
      union all
      select deduction_versions.position, deduction_versions.previous_position from links
      join deduction_versions on deduction_versions.position = links.previous_position
        and deduction_versions.position < links.position and deduction_versions.position > ${oldest}
    )
    select * from deduction_versions where position in (
      select position from links where position < ${before} ${inOrder} limit ${limit})
    ${inOrder}`.execute(db);
  return rows;
}

/** The columns that a payroll run reads. A large employer has tens of thousands of versions, and each column costs time. */
const RUN_COLUMNS = [
  'position',
  'version',
  'event_id',
  'event_time',
  'deduction_id',
  'employee_id',
  'line_of_coverage',
  'coverage_type',
  'taxability',
  'description',
  'period',
  'member_contribution',
  'employer_contribution',
  'starts_on',
  'ends_on',
  'recorded_at',
] as const satisfies readonly (keyof Version)[];
export type RunVersion = Pick<Version, (typeof RUN_COLUMNS)[number]>;

type RunVersions = [RunVersion, ...RunVersion[]];

/** Returns, by employee, the versions of each deduction that ever named the employee, in the order of deduction ids. */
export async function versionsOfEmployees(
  db: Db | Trx,
  employees: readonly string[],
): Promise<Map<string, RunVersions[]>> {
  const naming = await db
    .selectFrom('deduction_versions')
    .select(RUN_COLUMNS)
    .where(isOneOf(db, 'employee_id', employees))
    .orderBy('employee_id')
    .orderBy('deduction_id')
    .orderBy('position')
    .execute();
  const byEmployee = new Map<string, RunVersions[]>();
  for (const version of naming) {
    const histories = byEmployee.get(version.employee_id);
    const last = histories?.at(-1);
    if (histories === undefined) byEmployee.set(version.employee_id, [[version]]);
    else if (last?.[0].deduction_id === version.deduction_id) last.push(version);
    else histories.push([version]);
  }
  const moved = await historiesOfMoved(db, new Set(naming.map(({ deduction_id }) => deduction_id)));
  if (moved.size === 0) return byEmployee;
  const whole = (history: RunVersions) =>
    (moved.get(history[0].deduction_id) as RunVersions | undefined) ?? history;
  return new Map([...byEmployee].map(([id, histories]) => [id, histories.map(whole)]));
}

/** Returns the whole history of each of these deductions that ever named more than one employee. Most name one. */
async function historiesOfMoved(db: Db | Trx, deductionIds: ReadonlySet<string>) {
  const moved = await db
    .selectFrom('deduction_versions')
    .select('deduction_id')
    .where('moved', '=', sql.lit(1 as const))
    .where(isOneOf(db, 'deduction_id', [...deductionIds]))
    .execute();
  const ids = new Set(moved.map(({ deduction_id }) => deduction_id));
  return Map.groupBy(await historyOf(db, [...ids]), ({ deduction_id }) => deduction_id);
}
