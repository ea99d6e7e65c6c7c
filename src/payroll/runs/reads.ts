/** What the computation of a run reads, for some hundred employees at a time. */
import { isOneOf, piecesOf } from '../../database/bulk.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { byBytes } from '../../database/text-order.ts';
import { startDecisionsOf } from '../../ledger/start-decisions.ts';
import type { Line } from '../calculation/line.ts';
import { type Owed, owedByLatest } from './arrears.ts';
import type { Basis } from './basis.ts';
import type { Run } from './body.ts';
import { type History, historyFrom, RUN_COLUMNS, type RunVersion } from './history.ts';
import type { FrozenRow } from './true-up.ts';

/**
 * Employees at once: what is read of them together, before other work has its turn. Measured, twice as many save no
 * time, as more of it outlives the collector's first look; half as many cost more statements.
 */
const EMPLOYEES_AT_ONCE = 128;

/** Yields the ids of the employees whose lines may be in the run: `only`, those an off-cycle run names, or every one the employer ever had. */
export async function* candidates(
  db: Db | Trx,
  run: Run,
  after: string,
  only: readonly string[] | null,
): AsyncGenerator<string[]> {
  const named = only ?? (run.kind === 'off_cycle' ? run.employee_ids : null);
  if (named !== null) {
    const rest = [...named].sort(byBytes).filter((id) => byBytes(id, after) > 0);
    yield* piecesOf(rest, EMPLOYEES_AT_ONCE);
    return;
  }
  for (let last = after; ; ) {
    const rows = await db
      .selectFrom('roster')
      .select('employee_id')
      .where('employer_id', '=', run.employer_id)
      .where('employee_id', '>', last)
      .orderBy('employee_id')
      .limit(EMPLOYEES_AT_ONCE)
      .execute();
    if (rows.length > 0) yield rows.map((row) => row.employee_id);
    if (rows.length < EMPLOYEES_AT_ONCE) return;
    last = rows.at(-1)?.employee_id as string;
  }
}

/** The histories of the deductions that ever named each employee, as known at a position. */
export async function historiesOf(
  db: Db | Trx,
  employees: readonly string[],
  position: number,
): Promise<Map<string, History[]>> {
  const named = await deductionsOf(db, employees);
  const newest = await versionsAt(
    db,
    named.map((one) => one.newest),
  );
  const longer = await longerHistories(db, [...newest.values()]);
  // Only a deduction of several versions can have a start that was moved.
  const decisions = await startDecisionsOf(db, [...longer.keys()]);
  const byEmployee = new Map<string, History[]>();
  for (const { employee_id, newest: at } of named) {
    const version = newest.get(at) as RunVersion;
    const isKnown = (one: { position: number }) => one.position <= position;
    const known = (longer.get(version.deduction_id) ?? [version]).filter(isKnown);
    if (known.length === 0) continue;
    const history = historyFrom(known, (decisions.get(version.deduction_id) ?? []).filter(isKnown));
    const own = byEmployee.get(employee_id);
    if (own === undefined) byEmployee.set(employee_id, [history]);
    else own.push(history);
  }
  return byEmployee;
}

/** The deductions that ever named the employees, by the version that came last of each. */
function deductionsOf(db: Db | Trx, employees: readonly string[]) {
  return db
    .selectFrom('deduction_employees')
    .select('employee_id')
    .select((eb) =>
      // Looked up, not joined: PostgreSQL might rather read all deductions, for each page again.
      eb
        .selectFrom('deductions')
        .select('newest')
        .whereRef('deductions.deduction_id', '=', 'deduction_employees.deduction_id')
        .$asScalar()
        .$notNull()
        .as('newest'),
    )
    .where(isOneOf(db, 'employee_id', employees))
    .orderBy('employee_id')
    .orderBy('deduction_id')
    .execute();
}

async function versionsAt(db: Db | Trx, positions: readonly number[]): Promise<Map<number, RunVersion>> {
  const rows = await db
    .selectFrom('deduction_versions')
    .select(RUN_COLUMNS)
    .where(isOneOf(db, 'position', positions))
    .execute();
  return new Map(rows.map((row) => [row.position, row]));
}

/** The whole histories of those that have more than one version, by deduction; most have not. */
async function longerHistories(
  db: Db | Trx,
  newest: readonly RunVersion[],
): Promise<Map<string, RunVersion[]>> {
  const last = newest.filter(({ previous }) => previous !== null);
  if (last.length === 0) return new Map();
  const links = new Set(last.map(({ previous }) => previous as number));
  const versions = [...last, ...(await versionsBack(db, [...links]))];
  versions.sort((one, other) => one.position - other.position);
  return Map.groupBy(versions, (version) => version.deduction_id);
}

/** The versions at some positions and all that came before each, by their links. */
function versionsBack(db: Db | Trx, positions: readonly number[]): Promise<RunVersion[]> {
  const columns = RUN_COLUMNS.map((column) => `deduction_versions.${column}` as const);
  return db
    .withRecursive('back', (qb) =>
      qb
        .selectFrom('deduction_versions')
        .where(isOneOf(db, 'deduction_versions.position', positions))
        .select(columns)
        .unionAll((union) =>
          union
            .selectFrom('back')
            .innerJoin('deduction_versions', 'deduction_versions.position', 'back.previous')
            .select(columns),
        ),
    )
    .selectFrom('back')
    .selectAll()
    .execute();
}

/** What employees had in finalized runs, by employee, in the order that the runs are given in. */
export async function frozenLines(
  db: Db | Trx,
  freezeIds: readonly string[],
  employees: readonly string[],
): Promise<Map<string, FrozenRow[]>> {
  const byEmployee = new Map<string, FrozenRow[]>();
  if (freezeIds.length === 0) return byEmployee;
  const places = new Map(freezeIds.map((id, place) => [id, place]));
  const rows = await db
    .selectFrom('run_employees')
    .selectAll()
    .where(isOneOf(db, 'freeze_id', freezeIds))
    .where(isOneOf(db, 'employee_id', employees))
    .execute();
  rows.sort((one, other) => (places.get(one.freeze_id) ?? 0) - (places.get(other.freeze_id) ?? 0));
  for (const { freeze_id, employee_id, roster_position, lines } of rows) {
    const row = {
      freezeId: freeze_id,
      isIn: roster_position !== null,
      lines: JSON.parse(lines) as Line[],
    };
    const own = byEmployee.get(employee_id);
    if (own === undefined) byEmployee.set(employee_id, [row]);
    else own.push(row);
  }
  return byEmployee;
}

/** Returns the lines of earlier runs of which payroll took another amount, by employee. */
export async function owedBy(
  db: Db | Trx,
  { earlier }: Basis,
  employees: readonly string[],
): Promise<Map<string, Owed[]>> {
  const owed = new Map<string, Owed[]>();
  for (const { run_id, report } of earlier) {
    if (report === null) continue;
    const rows = await db
      .selectFrom('taken_lines')
      .innerJoin('taken_reports', (join) =>
        join
          .onRef('taken_reports.run_id', '=', 'taken_lines.run_id')
          .onRef('taken_reports.report', '=', 'taken_lines.report'),
      )
      .select(['employee_id', 'line', 'owed'])
      .where('taken_lines.run_id', '=', run_id)
      .where('taken_lines.report', '<=', report)
      .where(isOneOf(db, 'employee_id', employees))
      .orderBy('line')
      .orderBy('taken_lines.report')
      .execute();
    for (const { employee_id, ...row } of owedByLatest(rows)) {
      const own = owed.get(employee_id);
      if (own === undefined) owed.set(employee_id, [{ runId: run_id, ...row }]);
      else own.push({ runId: run_id, ...row });
    }
  }
  return owed;
}
