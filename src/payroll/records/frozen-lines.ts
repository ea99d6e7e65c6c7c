/** The lines of final runs, one row per employee, and of runs that are being finalized. */
import { type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import { closed, nullable } from '../../contract/fields.ts';
import { insertMany, isOneOf } from '../../database/bulk.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { type PageRequest, pagesBy } from '../../formats/cursor.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { isStop, type Line, LineRecord, lineOf, lineRecord } from '../calculation/line.ts';

/** An amount that `lineRecord` wrote. Only such a text becomes cents. */
const amount = Type.String({ pattern: '^-?[0-9]+[.][0-9]{2}$' });
const amountOrNull = nullable(amount);

/** A line without any value, whose fields are in the order of the schema. */
const NULLS = Object.fromEntries(Object.keys(LineRecord.properties).map((name) => [name, null]));

/** Returns parsed lines with the fields that `recordsToStore` left out. */
function complete(lines: unknown): unknown {
  if (!Array.isArray(lines)) return lines;
  return lines.map((line) => (typeof line === 'object' && line !== null ? { ...NULLS, ...line } : line));
}

const readStored = jsonColumn(
  'run_employees',
  'lines',
  Type.Array(
    closed({
      ...LineRecord.properties,
      member_amount: amount,
      employer_amount: amount,
      outstanding_after: amountOrNull,
      previous_amount: amountOrNull,
      member_difference: amountOrNull,
      employer_difference: amountOrNull,
    }),
  ),
  complete,
);
const readAltered = jsonColumn(
  'run_employees',
  'lines',
  Type.Unsafe<LineRecord[]>(Type.Array(Type.Object({}))),
  complete,
);

export type StoredLines = { freeze_id: string; employee_id: string; lines: string };

/** Returns an employee's lines as JSON, as `recordsToStore` does. */
export function linesToStore(lines: readonly Line[]): string {
  return recordsToStore(lines.map(lineRecord));
}

/** Returns an employee's lines as JSON, without fields that are null, which are half of a usual line. */
export function recordsToStore(records: readonly LineRecord[]): string {
  return JSON.stringify(records.map(withoutNulls));
}

function withoutNulls(record: LineRecord): Partial<LineRecord> {
  const kept: Record<string, unknown> = {};
  for (const name in record) {
    const value = record[name as keyof LineRecord];
    if (value !== null) kept[name] = value;
  }
  return kept;
}

export function storedRecords({ freeze_id, employee_id, lines }: StoredLines): LineRecord[] {
  return readStored(lines, `${freeze_id}/${employee_id}`);
}

export function storedLines(row: StoredLines): Line[] {
  return storedRecords(row).map(lineOf);
}

/** Like `storedRecords`, but a line may have any content: comparing it names what was altered, and a schema does not. */
export function linesToCompare({ freeze_id, employee_id, lines }: StoredLines): LineRecord[] {
  return readAltered(lines, `${freeze_id}/${employee_id}`);
}

export type LinesOfEmployee = { employeeId: string; lines: LineRecord[] };

/** The lines of an employee in an earlier run. `isIn`: false if the run took only items of the employee, or stopped deductions. */
export type FrozenRow<L = Line> = { freezeId: string; isIn: boolean; lines: readonly L[] };

const COLUMNS = ['freeze_id', 'employee_id', 'roster_position', 'lines'] as const;

/** Writes rows of employees: the freeze, the employee, the roster position, and the lines as JSON. */
export async function insertLines(trx: Trx, rows: readonly unknown[][]): Promise<void> {
  await insertMany(trx, 'run_employees', COLUMNS, rows);
}

/** Returns the lines of employees in finalized runs, by employee, in the given order of runs. `read` parses the lines of a row. */
export async function frozenLines<L>(
  db: Db | Trx,
  freezeIds: readonly string[],
  employees: readonly string[],
  read: (row: StoredLines) => L[],
): Promise<Map<string, FrozenRow<L>[]>> {
  if (freezeIds.length === 0) return new Map();
  const places = new Map(freezeIds.map((id, place) => [id, place]));
  const rows = await db
    .selectFrom('run_employees')
    .selectAll()
    .where(isOneOf(db, 'freeze_id', freezeIds))
    .where(isOneOf(db, 'employee_id', employees))
    .execute();
  rows.sort((one, other) => (places.get(one.freeze_id) ?? 0) - (places.get(other.freeze_id) ?? 0));
  const frozen = new Map<string, FrozenRow<L>[]>();
  for (const row of rows) {
    const ofEmployee = frozen.get(row.employee_id) ?? [];
    ofEmployee.push({ freezeId: row.freeze_id, isIn: row.roster_position !== null, lines: read(row) });
    frozen.set(row.employee_id, ofEmployee);
  }
  return frozen;
}

/** Returns which of these employees are in finalized runs. */
export async function attendanceOf(
  db: Db | Trx,
  freezeIds: readonly string[],
  employees: readonly string[],
): Promise<{ freeze_id: string; employee_id: string }[]> {
  if (freezeIds.length === 0 || employees.length === 0) return [];
  return db
    .selectFrom('run_employees')
    .select(['freeze_id', 'employee_id'])
    .where(isOneOf(db, 'freeze_id', freezeIds))
    .where(isOneOf(db, 'employee_id', employees))
    .where('roster_position', 'is not', null)
    .execute();
}

export type FrozenEmployee<Lines> = { employeeId: string; rosterPosition: number | null; lines: Lines };

/** Employees that are read at once. Most lists of lines end within the first. */
const AT_ONCE = { first: 50, most: 500 };

/** Yields the frozen lines of a run by employee, in the order of their ids. `read` returns the lines of a row. */
export async function* readFrozenLines<Lines>(
  db: Db,
  freezeId: string,
  after: string,
  read: (row: StoredLines) => Lines,
): AsyncGenerator<FrozenEmployee<Lines>[]> {
  for (let [last, limit] = [after, AT_ONCE.first]; ; limit = Math.min(2 * limit, AT_ONCE.most)) {
    const rows = await db
      .selectFrom('run_employees')
      .selectAll()
      .where('freeze_id', '=', freezeId)
      .where('employee_id', '>', last)
      .orderBy('employee_id')
      .limit(limit)
      .execute();
    if (rows.length > 0) {
      yield rows.map((row) => ({
        employeeId: row.employee_id,
        rosterPosition: row.roster_position,
        lines: read(row),
      }));
    }
    if (rows.length < limit) return;
    last = rows.at(-1)?.employee_id as string;
    await new Promise(setImmediate);
  }
}

const paycheckPage = pagesBy('paychecks', { pay_date: Type.String(), run_id: Type.String() }, 'desc');

/** Returns a page of the lines of an employee in the finalized runs of employers, the latest pay date first. */
export function finalizedLinesOf(
  db: Db,
  employeeId: string,
  employers: readonly string[],
  page: PageRequest,
) {
  const lines = db
    .selectFrom('payroll_runs')
    .innerJoin('run_employees', 'run_employees.freeze_id', 'payroll_runs.freeze_id')
    .select(['run_id', 'employer_id', 'kind', 'pay_date', 'period_start', 'period_end'])
    .select(['run_employees.freeze_id', 'employee_id', 'lines'])
    .where(isOneOf(db, 'employer_id', employers))
    .where('state', '=', sql.lit('finalized'))
    .where('employee_id', '=', employeeId);
  return paycheckPage(lines, page);
}

/** Returns which of these employees have a line in a finalized run of a pay date on or after a day. */
export async function employeesPaidSince(
  db: Db,
  employeeIds: readonly string[],
  day: string,
): Promise<Set<string>> {
  const rows = await db
    .selectFrom('payroll_runs')
    .innerJoin('run_employees', 'run_employees.freeze_id', 'payroll_runs.freeze_id')
    .select('employee_id')
    .distinct()
    .where('state', '=', sql.lit('finalized'))
    .where('pay_date', '>=', day)
    .where('lines', '<>', '[]')
    .where(isOneOf(db, 'employee_id', employeeIds))
    .execute();
  return new Set(rows.map(({ employee_id }) => employee_id));
}

/** Returns the finalized runs that took a deduction for a pay period ending on or after a day, by pay date. */
export async function runsThatTook(
  db: Db | Trx,
  { deductionId, employees, employers, from }: TakenSince,
): Promise<string[]> {
  const rows = await db
    .selectFrom('payroll_runs')
    .innerJoin('run_employees', 'run_employees.freeze_id', 'payroll_runs.freeze_id')
    .select(['run_id', 'run_employees.freeze_id', 'employee_id', 'lines'])
    .where(isOneOf(db, 'payroll_runs.employer_id', employers))
    .where('payroll_runs.state', '=', sql.lit('finalized'))
    .where('period_end', '>=', from)
    .where(isOneOf(db, 'run_employees.employee_id', employees))
    .orderBy('pay_date')
    .orderBy('run_id')
    .execute();
  const took = rows.filter((row) => storedRecords(row).some((line) => isTaken(line, deductionId)));
  return [...new Set(took.map(({ run_id }) => run_id))];
}

/** A deduction with every employee that it named, and with every employer of these. */
type TakenSince = {
  deductionId: string;
  employees: readonly string[];
  employers: readonly string[];
  from: string;
};

function isTaken({ deduction_id, kind, change }: LineRecord, deductionId: string): boolean {
  return deduction_id === deductionId && kind !== 'arrears' && !isStop(change);
}

/** Selects the lines of an employee in a run as JSON, for a query whose columns name the two. */
export function linesInRun(runId: string, employeeId: string): RawBuilder<string | null> {
  return sql`(select run_employees.lines from run_employees
    where freeze_id = (select freeze_id from payroll_runs where payroll_runs.run_id = ${sql.ref(runId)})
      and run_employees.employee_id = ${sql.ref(employeeId)})`;
}
