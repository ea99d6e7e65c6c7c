/** Verifies that amounts taken and owed add up to the finalized lines. */
import { sql } from 'kysely';
import { pagesByKey } from '../../database/bulk.ts';
import type { Verifying } from '../../database/difference.ts';
import type { Db, Tables } from '../../database/tables.ts';
import { amountOf, parseAmount } from '../../money.ts';
import type { StateOfAction } from '../../security/verify-recorded.ts';
import { type LineRecord, lineKey } from '../calculation/line.ts';
import { linesInRun, storedRecords } from '../records/frozen-lines.ts';

/** Lines read at once, each with all frozen lines of its employee. */
const ROWS_AT_ONCE = 500;
const NAMED = 1_000;

/** `lines`: the employee's finalized lines; null if there are none. */
type ReportedRow = Tables['taken_lines'] & { lines: string | null };

/** Verifies every line of every report, including lines that a later report replaced. */
export async function verifyTaken(db: Db, on: Verifying): Promise<void> {
  const key = ['run_id', 'report', 'employee_id', 'line'];
  const selected = sql`*, ${linesInRun('taken_lines.run_id', 'taken_lines.employee_id')} as lines`;
  for await (const rows of pagesByKey<ReportedRow>(db, 'taken_lines', key, selected, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    for (const row of rows) verifyRow(row, on);
    on.looked(rows.length);
  }
  await verifyReports(db, on);
}

function verifyRow(row: ReportedRow, { report }: Verifying): void {
  const id = `${row.run_id}/${row.report}/${row.employee_id}`;
  const line = frozenLines(row).find((candidate) => lineKey(candidate) === row.line);
  if (line === undefined) {
    report('taken_lines', id, 'line', 'there is no such line');
    return;
  }
  const [taken, owed] = [parseAmount(row.amount), parseAmount(row.owed)];
  if (taken === null || owed === null || line.member_amount !== amountOf(taken + owed)) {
    report('taken_lines', id, 'amount', 'plus the amount owed is not the amount of the line');
  }
}

/** Returns no lines if they are damaged, which the verification of the run reports. */
function frozenLines({ run_id, employee_id, lines }: ReportedRow): LineRecord[] {
  try {
    // The ids only name the row in the error, which is dropped here.
    return lines === null ? [] : storedRecords({ freeze_id: run_id, employee_id, lines });
  } catch {
    return [];
  }
}

async function verifyReports(db: Db, on: Verifying): Promise<void> {
  const { rows } = await sql<{ run_id: string; report: number }>`
    select run_id, report from taken_reports
    where recorded_at is not null and line_count <> (select count(*) from taken_lines
      where taken_lines.run_id = taken_reports.run_id and taken_lines.report = taken_reports.report)
    order by run_id, report limit ${NAMED}`.execute(db);
  for (const { run_id, report } of rows) {
    on.report('taken_reports', `${run_id}/${report}`, 'line_count', 'is not the number of its lines');
  }
}

export const TAKEN_STATES: readonly StateOfAction[] = [
  {
    ...{ table: 'taken_reports', key: 'run_id', field: 'recorded_at', is: sql`recorded_at is not null` },
    ...{ action: 'run.taken', at: 'recorded_at' },
  },
];
