/** The data that the computation of a run reads, for about a hundred employees at a time. */
import { isOneOf, piecesOf } from '../../database/bulk.ts';
import { byBytes } from '../../database/engine.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { type RunVersion, versionsOfEmployees } from '../../ledger/history.ts';
import { employeesOf } from '../../ledger/roster.ts';
import { startDecisionsOf } from '../../ledger/start-decisions.ts';
import { NOTHING, storedLines } from '../calculation/line.ts';
import type { FrozenRow } from './adjustments.ts';
import type { Basis } from './basis.ts';
import type { Run } from './body.ts';
import { type History, historyAt, historyFrom } from './history.ts';
import type { Owed } from './true-up.ts';

/** Measured: twice as many save no time, as more objects outlive the young generation; half cost more statements. */
const EMPLOYEES_AT_ONCE = 128;

/** Yields ids of employees: `only`, those that an off-cycle run names, or all that the employer ever had. */
export async function* candidates(
  db: Db | Trx,
  run: Run,
  after: string,
  only: readonly string[] | undefined,
): AsyncGenerator<string[]> {
  const named = only ?? (run.kind === 'off_cycle' ? run.employee_ids : null);
  if (named !== null) {
    const rest = [...named].sort(byBytes).filter((id) => byBytes(id, after) > 0);
    yield* piecesOf(rest, EMPLOYEES_AT_ONCE);
    return;
  }
  for (let last = after; ; ) {
    const ids = await employeesOf(db, run.employer_id, { after: last, limit: EMPLOYEES_AT_ONCE });
    if (ids.length > 0) yield ids;
    if (ids.length < EMPLOYEES_AT_ONCE) return;
    last = ids.at(-1) as string;
  }
}

/** Returns the histories of the deductions that ever named each employee, as known at a position. */
export async function historiesOf(
  db: Db | Trx,
  employees: readonly string[],
  position: number,
): Promise<Map<string, History[]>> {
  const byEmployee = await versionsOfEmployees(db, employees);
  // Only a deduction of several versions can have a start that was moved.
  const longer = [...byEmployee.values()].flat().filter((versions) => versions.length > 1);
  const decisions = await startDecisionsOf(db, [...new Set(longer.map(([one]) => one.deduction_id))]);
  const knownOf = (versions: readonly [RunVersion, ...RunVersion[]]) => {
    const [{ deduction_id }] = versions;
    return historyAt(historyFrom(versions, decisions.get(deduction_id) ?? []), position) ?? [];
  };
  return new Map([...byEmployee].map(([id, deductions]) => [id, deductions.flatMap(knownOf)]));
}

/** Returns the lines of employees in finalized runs, by employee, in the given order of runs. */
export async function frozenLines(
  db: Db | Trx,
  freezeIds: readonly string[],
  employees: readonly string[],
): Promise<Map<string, FrozenRow[]>> {
  if (freezeIds.length === 0) return new Map();
  const places = new Map(freezeIds.map((id, place) => [id, place]));
  const rows = await db
    .selectFrom('run_employees')
    .selectAll()
    .where(isOneOf(db, 'freeze_id', freezeIds))
    .where(isOneOf(db, 'employee_id', employees))
    .execute();
  rows.sort((one, other) => (places.get(one.freeze_id) ?? 0) - (places.get(other.freeze_id) ?? 0));
  const frozen = new Map<string, FrozenRow[]>();
  for (const row of rows) {
    const own = frozen.get(row.employee_id) ?? [];
    own.push({ freezeId: row.freeze_id, isIn: row.roster_position !== null, lines: storedLines(row) });
    frozen.set(row.employee_id, own);
  }
  return frozen;
}

/** Returns the lines of earlier runs from which payroll took a different amount, by employee. */
export async function owedBy(
  db: Db | Trx,
  { earlier }: Basis,
  employees: readonly string[],
): Promise<Map<string, Owed[]>> {
  const owed: Owed[] = [];
  for (const { run_id, report } of earlier) {
    if (report === null) continue;
    const rows = await reportedLines(db)
      .where('taken_lines.run_id', '=', run_id)
      .where('taken_lines.report', '<=', report)
      .where(isOneOf(db, 'employee_id', employees))
      .execute();
    owed.push(...owedByLatest(rows));
  }
  return Map.groupBy(owed, ({ employee_id }) => employee_id);
}

/** Selects the lines that recorded reports of amounts taken name. */
export function recordedLines(db: Db | Trx) {
  return db
    .selectFrom('taken_lines')
    .innerJoin('taken_reports', (join) =>
      join
        .onRef('taken_reports.run_id', '=', 'taken_lines.run_id')
        .onRef('taken_reports.report', '=', 'taken_lines.report')
        .on('taken_reports.recorded_at', 'is not', null),
    );
}

/** Selects the amounts that lines owe, of the oldest report first. */
export function reportedLines(db: Db | Trx) {
  return recordedLines(db)
    .select(['taken_lines.run_id', 'employee_id', 'line', 'owed'])
    .orderBy('line')
    .orderBy('taken_lines.report');
}

/** Returns what is owed by the latest report that names each line; a report replaces only the lines it names. */
export function owedByLatest(rows: readonly Owed[]): Owed[] {
  const latest = new Map(rows.map((row) => [JSON.stringify([row.run_id, row.employee_id, row.line]), row]));
  return [...latest.values()].filter(({ owed }) => owed !== NOTHING);
}

/** Pages read ahead while the current one is computed, so that PostgreSQL works at the same time. */
const PAGES_AHEAD = 2;

/** Reads items in order, and starts reading the next ones early. When the consumer stops, nothing stays in progress. */
export async function* readAhead<Item, Page>(
  items: AsyncIterable<Item>,
  read: (item: Item) => Promise<Page>,
): AsyncGenerator<Page> {
  const reading: Promise<Page>[] = [];
  try {
    for await (const item of items) {
      const page = read(item);
      // The error is thrown when the page is taken; this prevents an unhandled rejection before that.
      page.catch(() => {});
      reading.push(page);
      if (reading.length > PAGES_AHEAD) yield await (reading.shift() as Promise<Page>);
    }
    for (let page = reading.shift(); page !== undefined; page = reading.shift()) yield await page;
  } finally {
    await Promise.allSettled(reading);
  }
}
