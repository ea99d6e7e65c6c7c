/** Verifies that amounts taken and owed add up to the finalized lines, and reports against their audit records. */
import { type Selectable, sql } from 'kysely';
import { pagesByKey } from '../../database/bulk.ts';
import type { Verifying } from '../../database/difference.ts';
import type { Db, Tables } from '../../database/tables.ts';
import { amountOf, parseAmount } from '../../money.ts';
import { recordsOfResources, recordsWithoutResource } from '../../security/verify-recorded.ts';
import { type LineRecord, lineKey } from '../calculation/line.ts';
import { linesInRun, storedRecords } from '../records/frozen-lines.ts';
import { contentOfReport } from './taken-content.ts';

/** Lines read at once, each with all frozen lines of its employee. */
const ROWS_AT_ONCE = 500;

/** `lines`: the employee's finalized lines; null if there are none. */
type ReportedRow = Tables['taken_lines'] & { lines: string | null };

/** Verifies every line of every report, including lines that a later report replaced. */
export async function verifyTaken(db: Db, on: Verifying): Promise<void> {
  const selected = sql`*, ${linesInRun('taken_lines.run_id', 'taken_lines.employee_id')} as lines`;
  for await (const rows of pagesByKey<ReportedRow>(db, 'taken_lines', selected, ROWS_AT_ONCE)) {
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

/** Checks that each recorded report and its lines are as its audit record states, and that each record has its report. */
async function verifyReports(db: Db, on: Verifying): Promise<void> {
  type Report = Selectable<Tables['taken_reports']>;
  for await (const rows of pagesByKey<Report>(db, 'taken_reports', sql`*`, ROWS_AT_ONCE)) {
    const records = await recordsOfResources(
      db,
      ['run.taken'],
      [...new Set(rows.map(({ run_id }) => run_id))],
    );
    for (const row of rows) {
      on.signal.throwIfAborted();
      // Its lines are still being written, or were left behind.
      if (row.recorded_at === null) continue;
      const wrong = (field: string, rule: string) =>
        on.report('taken_reports', `${row.run_id}/${row.report}`, field, rule);
      const { lines, content_hash } = await contentOfReport(db, row);
      const record = records.get(row.run_id)?.find(({ details }) => details.report === row.report);
      if (lines !== row.line_count) wrong('line_count', 'is not the number of its lines');
      if (record?.recorded_at !== row.recorded_at) wrong('recorded_at', 'has no audit record of run.taken');
      else if (record.details.content_hash !== content_hash)
        wrong('report', 'has lines or a key that its audit record does not state');
    }
  }
  const row = { table: 'taken_reports', key: 'run_id', at: 'recorded_at' } as const;
  for (const recordId of await recordsWithoutResource(db, 'run.taken', row))
    on.report('taken_reports', recordId, 'recorded_at', 'has an audit record and no row');
}
