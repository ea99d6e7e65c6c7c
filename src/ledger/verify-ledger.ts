/** Checks that versions, facts and assignments share positions without gaps, and that latest states match their versions. */
import { sql } from 'kysely';
import { pagesOf, type ReportDifference, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { historyOf } from './history.ts';

/** Positions counted at once: a few milliseconds. */
const POSITIONS_AT_ONCE = 20_000;
/** Latest states read at once, each with two versions. */
const ROWS_AT_ONCE = 2_000;
const ROSTER_AT_ONCE = 5_000;
/** Maximum number of reported rows that are missing from the chain of their deduction or employment. */
const NAMED = 1_000;

/** Returns the newest position, and checks that it is the newest one stored. */
export async function verifyHead(db: Db, { report }: Pick<Verifying, 'report'>): Promise<number> {
  const { rows } = await sql<{ head: number | null; newest: number }>`
    select (select max(position) from ledger_head) as head,
      (select coalesce(max(position), 0) from (
        select max(position) as position from deduction_versions union all select max(position) from roster_facts
        union all select max(position) from deduction_assignments) as newest
      ) as newest`.execute(db);
  // Without its row, the head is none of the positions.
  const [head, newest] = [Number(rows[0]?.head ?? -1), Number(rows[0]?.newest)];
  if (head !== newest) report('ledger_head', '1', 'position', 'is not the newest position');
  return Math.max(head, newest);
}

/** Checks that every position up to this one belongs to exactly one version, roster fact or assignment. */
export async function verifyPositions(db: Db, until: number, on: Verifying): Promise<void> {
  for (let after = 0; after < until; after += POSITIONS_AT_ONCE) {
    on.signal.throwIfAborted();
    const last = Math.min(after + POSITIONS_AT_ONCE, until);
    const between = sql`position > ${after} and position <= ${last}`;
    const stored = sql`select position from deduction_versions where ${between}
      union all select position from roster_facts where ${between}
      union all select position from deduction_assignments where ${between}`;
    const { rows } = await sql<{ distinct: number; all: number }>`
      select count(distinct position) as "distinct", count(*) as "all" from (${stored}) as stored`.execute(
      db,
    );
    const expected = last - after;
    if (Number(rows[0]?.all) === expected && Number(rows[0]?.distinct) === expected) continue;
    const positions = (await sql<{ position: number }>`${stored}`.execute(db)).rows;
    const byPosition = Map.groupBy(positions, ({ position }) => position);
    for (let position = after + 1; position <= last; position += 1) {
      const times = byPosition.get(position)?.length ?? 0;
      if (times === 1) continue;
      const rule = times === 0 ? 'is missing' : 'belongs to several rows';
      on.report('deduction_versions', position, 'position', rule);
    }
  }
}

/** Checks the latest states. Each page is one statement and so one snapshot, also while events are applied. */
export async function verifyDeductions(db: Db, on: Verifying): Promise<number> {
  let looked = 0;
  const page = (after: string) => latestStatesAfter(db, after);
  for await (const rows of pagesOf(on, '', ROWS_AT_ONCE, page, (row) => row.deduction_id)) {
    // If the newest version was late, an earlier one is the latest.
    const late = rows.filter((row) => row.newest_late === 1);
    const histories = await historiesOf(db, late);
    for (const row of rows) {
      const { deduction_id, last_received_position: newest } = row;
      // The history may have newer versions than the page.
      const inTime = histories
        .get(deduction_id)
        ?.findLast((version) => version.late === 0 && version.position <= newest);
      verifyLatestState(row, row.newest_late === 1 ? inTime?.position : newest, on.report);
    }
    looked += rows.length;
  }
  return looked;
}

function latestStatesAfter(db: Db, after: string) {
  return db
    .selectFrom('deductions')
    .leftJoin('deduction_versions as newest', 'newest.position', 'deductions.last_received_position')
    .leftJoin('deduction_versions as shown', 'shown.position', 'deductions.position')
    .selectAll('deductions')
    .select([
      'newest.deduction_id as newest_deduction',
      'newest.version as newest_version',
      'newest.late as newest_late',
      'shown.event_time as shown_time',
      'shown.employee_id as shown_employee',
    ])
    .where('deductions.deduction_id', '>', after)
    .orderBy('deductions.deduction_id')
    .limit(ROWS_AT_ONCE)
    .execute();
}

async function historiesOf(db: Db, deductions: readonly { deduction_id: string }[]) {
  const ids = [...new Set(deductions.map(({ deduction_id }) => deduction_id))];
  return Map.groupBy(await historyOf(db, ids), ({ deduction_id }) => deduction_id);
}

function verifyLatestState(
  row: Awaited<ReturnType<typeof latestStatesAfter>>[number],
  shown: number | undefined,
  report: ReportDifference,
): void {
  const wrong = (field: string, rule: string) => report('deductions', row.deduction_id, field, rule);
  if (row.newest_deduction !== row.deduction_id) {
    wrong('last_received_position', 'is no version of this deduction');
    return;
  }
  if (row.version_count !== row.newest_version) wrong('version_count', 'is not the number of its versions');
  if (row.position !== shown) {
    wrong('position', 'is not its latest version');
    return;
  }
  if (row.event_time !== row.shown_time) wrong('event_time', 'differs from its latest version');
  if (row.employee_id !== row.shown_employee) wrong('employee_id', 'differs from its latest version');
}

/** Checks that every version belongs to its deduction's chain. Each link is checked elsewhere, so this compares counts. */
export async function verifyChained(db: Db, report: ReportDifference): Promise<void> {
  const counted = await sql<{ versions: number; chained: number }>`
    select (select count(*) from deduction_versions) as versions,
      (select coalesce(sum(deductions.version_count), 0) from deductions) as chained`.execute(db);
  if (Number(counted.rows[0]?.versions) === Number(counted.rows[0]?.chained)) return;
  const unchained = await sql<{ position: number }>`
    with twice as (select deduction_id, version from deduction_versions group by deduction_id, version having count(*) > 1)
    select deduction_versions.position from deduction_versions
    left join deductions on deductions.deduction_id = deduction_versions.deduction_id
    left join twice on twice.deduction_id = deduction_versions.deduction_id and twice.version = deduction_versions.version
    where deductions.deduction_id is null or deduction_versions.version > deductions.version_count or twice.version is not null
    order by deduction_versions.position limit ${NAMED}`.execute(db);
  for (const { position } of unchained.rows) {
    report('deduction_versions', position, 'position', 'is not among the versions that its deduction counts');
  }
}

/** Checks that the roster points at the newest fact of each employment. */
export async function verifyRoster(db: Db, on: Verifying): Promise<number> {
  let facts = 0;
  const first: EmploymentKey = { employee_id: '', employer_id: '' };
  const page = (after: EmploymentKey) => newestFacts(db, after);
  for await (const rows of pagesOf(on, first, ROSTER_AT_ONCE, page, (row) => row)) {
    for (const row of rows) {
      facts += Number(row.facts);
      if (row.position === row.newest) continue;
      const rule = 'is not the position of the newest fact';
      on.report('roster', `${row.employee_id}/${row.employer_id}`, 'position', rule);
    }
  }
  const { rows: others } = await sql<EmploymentKey>`
    select roster.employee_id, roster.employer_id from roster
    left join roster_facts on roster_facts.position = roster.position
      and roster_facts.employee_id = roster.employee_id and roster_facts.employer_id = roster.employer_id
    where roster_facts.position is null
    order by roster.employee_id, roster.employer_id limit ${NAMED}`.execute(db);
  for (const { employee_id, employer_id } of others) {
    on.report('roster', `${employee_id}/${employer_id}`, 'employee_id', 'there is no such fact');
  }
  return facts;
}

type EmploymentKey = { employee_id: string; employer_id: string };

async function newestFacts(db: Db, { employee_id, employer_id }: EmploymentKey) {
  const { rows } = await sql<EmploymentKey & { newest: number; position: number | null; facts: number }>`
    select newest.employee_id, newest.employer_id, newest, newest.facts, roster.position
    from (
      select employee_id, employer_id, max(position) as newest, count(*) as facts from roster_facts
      where (employee_id, employer_id) > (${employee_id}, ${employer_id})
      group by employee_id, employer_id order by employee_id, employer_id limit ${ROSTER_AT_ONCE}) as newest
    left join roster on roster.employee_id = newest.employee_id and roster.employer_id = newest.employer_id
    order by newest.employee_id, newest.employer_id`.execute(db);
  return rows;
}
