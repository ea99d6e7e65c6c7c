/** Checks that the latest states match their versions. */
import { sql } from 'kysely';
import { isOneOf, piecesOf } from '../database/bulk.ts';
import { pagesOf, type ReportDifference, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import type { Version } from './fold.ts';

/** Latest states read at once, each with two versions. */
const ROWS_AT_ONCE = 2_000;
/** The most deductions reported with more versions than their latest state counts. */
const NAMED = 1_000;

/** Checks all deductions. Each page is one statement and so one snapshot, also while events are applied. */
export async function verifyDeductions(db: Db, on: Verifying): Promise<number> {
  let looked = 0;
  const page = (after: string) => pageOf(db, after);
  for await (const rows of pagesOf(on, '', ROWS_AT_ONCE, page, (row) => row.deduction_id)) {
    // If the newest version was late, an earlier one is the latest.
    const late = rows.filter((row) => row.newest_late === 1);
    const ends = late.map((row) => row.last_received_position);
    const chains = await readChains(db, ends);
    for (const row of rows) {
      const shown =
        row.newest_late === 1
          ? chains.get(row.last_received_position)?.findLast((version) => version.late === 0)?.position
          : row.last_received_position;
      verifyOne(row, shown ?? null, on.report);
    }
    looked += rows.length;
  }
  return looked;
}

type Row = Awaited<ReturnType<typeof pageOf>>[number];

function pageOf(db: Db, after: string) {
  return db
    .selectFrom('deductions')
    .leftJoin('deduction_versions as newest', 'newest.position', 'deductions.last_received_position')
    .leftJoin('deduction_versions as shown', 'shown.position', 'deductions.position')
    .leftJoin('deduction_employees as listed', (join) =>
      join
        .onRef('listed.deduction_id', '=', 'deductions.deduction_id')
        .onRef('listed.employee_id', '=', 'deductions.employee_id'),
    )
    .selectAll('deductions')
    .select([
      'newest.deduction_id as newest_deduction',
      'newest.version as newest_version',
      'newest.late as newest_late',
      'shown.event_time as shown_time',
      'shown.employee_id as shown_employee',
      'listed.employee_id as listed_employee',
    ])
    .where('deductions.deduction_id', '>', after)
    .orderBy('deductions.deduction_id')
    .limit(ROWS_AT_ONCE)
    .execute();
}

function verifyOne(row: Row, shown: number | null, report: ReportDifference): void {
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
  if (row.event_time !== row.shown_time) wrong('event_time', 'is not that of its latest version');
  if (row.employee_id !== row.shown_employee) wrong('employee_id', 'is not that of its latest version');
  else if (row.listed_employee === null) {
    const rule = 'the employee of its latest version is not listed with it';
    report('deduction_employees', row.deduction_id, 'employee_id', rule);
  }
}

/** Checks that every version belongs to its deduction's chain: links are checked, so counts suffice. */
export async function verifyChained(db: Db, report: ReportDifference): Promise<void> {
  const counted = await sql<{ versions: number; chained: number }>`
    select (select count(*) from deduction_versions) as versions,
      (select coalesce(sum(deductions.version_count), 0) from deductions) as chained`.execute(db);
  const { versions, chained } = counted.rows[0] as { versions: number; chained: number };
  if (Number(versions) === Number(chained)) return;
  const found = await sql<{ position: number }>`
    with twice as (select deduction_id, version from deduction_versions group by deduction_id, version having count(*) > 1)
    select deduction_versions.position from deduction_versions
    left join deductions on deductions.deduction_id = deduction_versions.deduction_id
    left join twice on twice.deduction_id = deduction_versions.deduction_id and twice.version = deduction_versions.version
    where deductions.deduction_id is null or deduction_versions.version > deductions.version_count or twice.version is not null
    order by deduction_versions.position limit ${NAMED}`.execute(db);
  for (const { position } of found.rows) {
    report('deduction_versions', position, 'position', 'is not among the versions that its deduction counts');
  }
}

/** Checks that each employee listed with a deduction has or had it. */
export async function verifyListed(db: Db, on: Verifying): Promise<void> {
  const first: Pair = { employee_id: '', deduction_id: '' };
  const page = (after: Pair) => listedAfter(db, after);
  for await (const rows of pagesOf(on, first, ROWS_AT_ONCE, page, (row) => row)) {
    const former = rows.filter((row) => row.latest !== row.employee_id);
    const ends = former.flatMap((row) => row.last_received_position ?? []);
    const chains = await readChains(db, ends);
    for (const { employee_id, deduction_id, last_received_position } of former) {
      const had = chains
        .get(last_received_position ?? 0)
        ?.some((version) => version.employee_id === employee_id);
      if (had) continue;
      const rule = 'this employee never had the deduction';
      on.report('deduction_employees', `${employee_id}/${deduction_id}`, 'deduction_id', rule);
    }
  }
}

function listedAfter(db: Db, after: Pair) {
  return db
    .selectFrom('deduction_employees')
    .leftJoin('deductions', 'deductions.deduction_id', 'deduction_employees.deduction_id')
    .select([
      'deduction_employees.employee_id',
      'deduction_employees.deduction_id',
      'deductions.employee_id as latest',
      'last_received_position',
    ])
    .where((eb) =>
      eb(
        eb.refTuple('deduction_employees.employee_id', 'deduction_employees.deduction_id'),
        '>',
        eb.tuple(after.employee_id, after.deduction_id),
      ),
    )
    .orderBy('deduction_employees.employee_id')
    .orderBy('deduction_employees.deduction_id')
    .limit(ROWS_AT_ONCE)
    .execute();
}

export type Pair = { employee_id: string; deduction_id: string };

/** Small, because each employee is combined with each deduction. */
const PAIRS_AT_ONCE = 64;

/** Returns the pairs that are not listed. */
export async function pairsUnlisted<P extends Pair>(db: Db, pairs: readonly P[]): Promise<P[]> {
  const listed = new Set<string>();
  for (const piece of piecesOf(pairs, PAIRS_AT_ONCE)) {
    const employees = piece.map(({ employee_id }) => employee_id);
    const deductions = piece.map(({ deduction_id }) => deduction_id);
    const rows = await db
      .selectFrom('deduction_employees')
      .selectAll()
      .where(isOneOf(db, 'employee_id', employees))
      .where(isOneOf(db, 'deduction_id', deductions))
      .execute();
    for (const row of rows) listed.add(keyOf(row));
  }
  return pairs.filter((pair) => !listed.has(keyOf(pair)));
}

/** JSON keeps the two ids separate, whatever characters they contain. */
function keyOf({ employee_id, deduction_id }: Pair): string {
  return JSON.stringify([employee_id, deduction_id]);
}

/** Versions of one deduction, oldest position first. */
type Chain = readonly Version[];

/** Returns the chains that end at these positions, by following the rows' links backward. */
async function readChains(db: Db, positions: readonly number[]): Promise<Map<number, Chain>> {
  const chains = new Map<number, Version[]>();
  const rows = await db
    .withRecursive('chain', (qb) =>
      qb
        .selectFrom('deduction_versions')
        .where(isOneOf(db, 'position', positions))
        .selectAll()
        .select('position as end')
        .unionAll((union) =>
          union
            .selectFrom('chain')
            .innerJoin('deduction_versions', 'deduction_versions.position', 'chain.previous_position')
            // A damaged row could form a circle.
            .whereRef('deduction_versions.position', '<', 'chain.position')
            .selectAll('deduction_versions')
            .select('chain.end'),
        ),
    )
    .selectFrom('chain')
    .selectAll()
    .orderBy('position')
    .execute();
  for (const { end, ...version } of rows) {
    const chain = chains.get(end) ?? [];
    chain.push(version);
    chains.set(end, chain);
  }
  return chains;
}
