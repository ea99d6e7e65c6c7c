/** Reports of the amounts that payroll took for a finalized run: docs/reconciliation.md. */
import Type, { type Static } from 'typebox';
import { closed, component, integer, nullableText, text } from '../../contract/fields.ts';
import { insertMany, isOneOf } from '../../database/bulk.ts';
import { forUpdate, lockNames } from '../../database/engine.ts';
import { isUnavailable } from '../../database/errors.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import type { Problem } from '../../errors.ts';
import { createProblems, type Rows, readableRows } from '../../formats/rows.ts';
import { amountOf } from '../../money.ts';
import { type Acting, record } from '../../security/audit.ts';
import { LINE_KINDS, lineKey } from '../calculation/line.ts';
import { hashOf } from '../records/basis.ts';
import { type StoredRun, stateOf } from '../records/runs.ts';
import { lockPayroll } from '../settings/lock.ts';
import { contentOfReport } from './taken-content.ts';
import { reportWithKey, type WrittenReport } from './taken-repeats.ts';
import { findLines, TAKEN_COLUMNS, type TakenRow, unnamedCodes } from './taken-rows.ts';

const DIFFERENCES_NAMED = 1_000;

export const TakenReport = component(
  'TakenReport',
  {
    id: text(
      'The ID of the report, unique for the run. The last report of a line counts. A preview has the next one.',
    ),
    lines: integer('The number of lines reported. Lines that no report names were taken in full.'),
    owed: text('The total amount not taken. Negative if too much was taken.'),
    difference_count: integer('The number of lines whose taken amount differs from the run.'),
    differences: Type.Array(
      closed({
        employee_id: text('The employee.'),
        deduction_id: text('The deduction.'),
        line_of_coverage: text('The line of coverage.'),
        kind: Type.Enum([...LINE_KINDS], { description: 'The kind of line.' }),
        adjustment_for: nullableText('The earlier run that the line settles.'),
        member_amount: text('The amount in the run.'),
        taken: text('The amount taken.'),
        owed: text('The amount not taken. Negative if too much was taken.'),
      }),
      { description: `The first ${DIFFERENCES_NAMED} differences. Later runs show them as arrears.` },
    ),
    unnamed_codes: Type.Array(
      closed({
        payroll_code: text('The code.'),
        lines: integer('The number of its lines.'),
        member_amount: text('The amount of its lines.'),
      }),
      {
        description:
          'The payroll codes of the run that a file read through the file format does not have. Their lines count as taken in full unless another report names them.',
      },
    ),
  },
  'The recorded report.',
);
type TakenReport = Static<typeof TakenReport>;

/** `isRepeated`: an earlier request with the same idempotency key recorded the report. */
type TakenResult = TakenReport & { isRepeated: boolean };

/** `isExport`: whether the rows are payroll's export, read through a file format. */
type Reporting = {
  readonly idempotencyKey?: string | null;
  readonly isExport?: (() => boolean) | undefined;
  readonly isPreview?: boolean;
};

/** Rows in one transaction: their employees' lines are read together, and the write lock is held a few milliseconds. */
const ROWS_AT_ONCE = 250;

/**
 * Records a report on a finalized run. The latest report that names a line decides; a line that no report names was
 * taken in full. One wrong row rejects the whole report. Memory stays flat: rows are written as they arrive, and one
 * small transaction records the report, or none does for a preview. Throws ROWS_REFUSED, and KEY_REUSED for an idempotency
 * key of a report with other lines.
 */
export async function recordTaken(
  db: Db,
  stored: StoredRun,
  rows: Rows,
  acting: Acting,
  { idempotencyKey = null, isExport = () => false, isPreview = false }: Reporting = {},
): Promise<TakenResult> {
  const { run_id, employer_id } = stored;
  const problems = createProblems();
  let lines = 0;
  let owed = 0n;
  let difference_count = 0;
  const differences: TakenReport['differences'] = [];
  const codes = new Set<string>();
  const report = await transact(db, (trx) => beginReport(trx, run_id));
  let recorded = report;
  try {
    for await (const some of readableRows(rows, TAKEN_COLUMNS, problems, ROWS_AT_ONCE)) {
      const named = await findLines(db, stored, some, problems, isExport());
      if (isExport()) for (const { fields } of some) codes.add(fields.payroll_code ?? '');
      if (named.length === 0) continue;
      problems.add(...(await transact(db, (trx) => write(trx, run_id, report, named))));
      lines += named.length;
      owed = named.reduce((sum, line) => sum + line.owed, owed);
      const differing = named.filter((line) => line.owed !== 0n);
      difference_count += differing.length;
      differences.push(...differing.slice(0, DIFFERENCES_NAMED - differences.length).map(differenceOf));
    }
    if (problems.isEmpty && !isPreview) {
      const key_hash = idempotencyKey === null ? null : hashOf(idempotencyKey);
      const { content_hash } = await contentOfReport(db, { run_id, report, key_hash });
      const written = { run_id, employer_id, report, lines, key_hash, content_hash };
      // A repeat is found before payroll is locked, because the lock counts as a change.
      const outcome =
        (await reportWithKey(db, written)) ??
        (await transact(db, (trx) => recordReport(trx, written, acting)));
      if (typeof outcome === 'number') recorded = outcome;
      else problems.add(outcome);
    }
  } catch (error) {
    // If the response to the commit was lost, the report may be recorded. If it is not, the next report removes its lines.
    if (!isUnavailable(error)) await dropReport(db, run_id, report).catch(() => {});
    throw error;
  }
  const isRepeated = recorded !== report;
  if (!problems.isEmpty || isRepeated || isPreview) await dropReport(db, run_id, report);
  else await dropUnrecorded(db, run_id, report);
  problems.assertNone();
  const id = String(recorded);
  const unnamed_codes = codes.size === 0 || codes.has('') ? [] : await unnamedCodes(db, stored, codes);
  return { isRepeated, id, lines, owed: amountOf(owed), difference_count, differences, unnamed_codes };
}

function differenceOf({ line, taken, owed }: TakenRow): TakenReport['differences'][number] {
  const { employee_id, deduction_id, line_of_coverage, kind, adjustment_for, member_amount } = line;
  return {
    ...{ employee_id, deduction_id, line_of_coverage, kind, adjustment_for, member_amount },
    taken: amountOf(taken),
    owed: amountOf(owed),
  };
}

/** Returns the reports on a run, the first one first. A later one replaces only the lines it names. */
export async function readTaken(
  db: Db,
  runId: string,
): Promise<{ id: string; recorded_at: string; lines: number }[]> {
  const reports = await db
    .selectFrom('taken_reports')
    .select(['report', 'recorded_at', 'line_count as lines'])
    .where('run_id', '=', runId)
    .where('recorded_at', 'is not', null)
    .orderBy('report')
    .$narrowType<{ recorded_at: string }>()
    .execute();
  return reports.map(({ report, ...rest }) => ({ id: String(report), ...rest }));
}

const REPLACED: Problem = { path: '', rule: 'a newer report on the run was recorded in the meantime' };

/** Writes lines of a report that is not recorded yet. A line that it already has is a problem. */
async function write(
  trx: Trx,
  runId: string,
  report: number,
  lines: readonly TakenRow[],
): Promise<Problem[]> {
  // A newer report replaces this one, even if it is recorded while this one is written.
  await lockReports(trx, runId);
  const open = await openReports(trx, runId).where('report', '=', report).executeTakeFirst();
  if (open === undefined) return [REPLACED];
  const known = await linesOf(trx, runId, report, [...new Set(lines.map(({ line }) => line.employee_id))]);
  const problems: Problem[] = [];
  const rows: unknown[][] = [];
  for (const { path, line, taken, owed } of lines) {
    const key = keyOf(line.employee_id, lineKey(line));
    if (known.has(key)) problems.push({ path, rule: 'names the same line as an earlier row' });
    else rows.push([runId, report, line.employee_id, lineKey(line), amountOf(taken), amountOf(owed)]);
    known.add(key);
  }
  const columns = ['run_id', 'report', 'employee_id', 'line', 'amount', 'owed'] as const;
  await insertMany(trx, 'taken_lines', columns, rows);
  return problems;
}

function lockReports(trx: Trx, runId: string): Promise<void> {
  return lockNames(trx, [`taken ${runId}`]);
}

async function beginReport(trx: Trx, runId: string): Promise<number> {
  await lockReports(trx, runId);
  const { last } = await trx
    .selectFrom('taken_reports')
    .select((eb) => eb.fn.max('report').as('last'))
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  const report = (last ?? 0) + 1;
  await trx
    .insertInto('taken_reports')
    .values({ run_id: runId, report, recorded_at: null, line_count: 0 })
    .execute();
  return report;
}

/** The reports on a run whose lines are still being written, or were left behind by a process that died. */
function openReports(db: Db | Trx, runId: string) {
  return db
    .selectFrom('taken_reports')
    .select('report')
    .where('run_id', '=', runId)
    .where('recorded_at', 'is', null);
}

async function linesOf(
  trx: Trx,
  runId: string,
  report: number,
  employees: readonly string[],
): Promise<Set<string>> {
  const rows = await trx
    .selectFrom('taken_lines')
    .select(['employee_id', 'line'])
    .where('run_id', '=', runId)
    .where('report', '=', report)
    .where(isOneOf(trx, 'employee_id', employees))
    .execute();
  return new Set(rows.map(({ employee_id, line }) => keyOf(employee_id, line)));
}

/** JSON keeps the parts separate, whatever characters they contain. */
function keyOf(employeeId: string, line: string): string {
  return JSON.stringify([employeeId, line]);
}

/** Returns the report that is recorded, which is an earlier one if this one repeats it, or why none is. */
async function recordReport(
  trx: Trx,
  written: WrittenReport & { employer_id: string; content_hash: string },
  acting: Acting,
): Promise<Problem | number> {
  const { run_id, employer_id, report, lines, key_hash, content_hash } = written;
  await lockPayroll(trx);
  if ((await stateOf(trx, run_id)) !== 'finalized')
    return { path: '', rule: 'the run was voided in the meantime' };
  const known = await reportWithKey(trx, written);
  if (known !== null) return known;
  const newer = await trx
    .selectFrom('taken_reports')
    .select('report')
    .where('run_id', '=', run_id)
    .where('report', '>', report)
    .where('recorded_at', 'is not', null)
    .executeTakeFirst();
  if (newer !== undefined) return REPLACED;
  await trx
    .updateTable('taken_reports')
    .set({ recorded_at: acting.now, line_count: lines, key_hash })
    .where('run_id', '=', run_id)
    .where('report', '=', report)
    .execute();
  const details = { report, lines, content_hash };
  await record(trx, acting, { action: 'run.taken', resource: run_id, employer: employer_id, details });
  return report;
}

/** Removes lines of earlier reports that were never recorded: none can be recorded after this one. */
async function dropUnrecorded(db: Db, runId: string, report: number): Promise<void> {
  for (const left of await openReports(db, runId).where('report', '<', report).execute()) {
    await dropReport(db, runId, left.report);
  }
}

/** Removes a report that is not recorded, in steps that hold the write lock briefly. */
async function dropReport(db: Db, runId: string, report: number): Promise<void> {
  for (let removed = -1; removed !== 0; ) {
    removed = await transact(db, async (trx) => {
      await lockReports(trx, runId);
      const unrecorded = openReports(trx, runId).where('report', '=', report);
      // Locked, because recording a report locks its row and not the name.
      if ((await forUpdate(trx, unrecorded).executeTakeFirst()) === undefined) return 0;
      const employees = trx
        .selectFrom('taken_lines')
        .select('employee_id')
        .where('run_id', '=', runId)
        .where('report', '=', report)
        .orderBy('employee_id')
        .limit(ROWS_AT_ONCE);
      const { numDeletedRows } = await trx
        .deleteFrom('taken_lines')
        .where('run_id', '=', runId)
        .where('report', '=', report)
        .where('employee_id', 'in', employees)
        .executeTakeFirst();
      if (numDeletedRows > 0n) return Number(numDeletedRows);
      await trx
        .deleteFrom('taken_reports')
        .where('run_id', '=', runId)
        .where('report', '=', report)
        .execute();
      return 0;
    });
  }
}
