/** The lines that reports of amounts taken name, as the API and the command line show them. */
import Type, { type Static } from 'typebox';
import { component, nullableText, text } from '../../contract/fields.ts';
import { isOneOf } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import { AppError } from '../../errors.ts';
import { allPages, EMPTY_PAGE, type ListPage, type PageRequest, pagesBy } from '../../formats/cursor.ts';
import { amountOf, centsOf } from '../../money.ts';
import { LineRecord, lineKey } from '../calculation/line.ts';
import { frozenLines, storedRecords } from '../records/frozen-lines.ts';
import type { StoredRun } from '../records/runs.ts';
import { recordedLines } from './owed.ts';

const { employee_id, deduction_id, line_of_coverage, taxability, kind, adjustment_for } =
  LineRecord.properties;

export const TakenLine = component(
  'TakenLine',
  {
    report_id: text('The report that names the line.'),
    ...{ employee_id, deduction_id, line_of_coverage, taxability, kind, adjustment_for },
    member_amount: text('The amount in the run.'),
    taken: text('The amount taken, according to this report.'),
    owed: text('The amount not taken. Negative if too much was taken.'),
    replaced_by: nullableText(
      'The ID of the latest report that names the line too: its amount counts instead. Null if this one counts.',
    ),
  },
  'A line of a run that a report of amounts taken names.',
);
export type TakenLine = Static<typeof TakenLine>;

const linePage = pagesBy('taken-lines', {
  'taken_lines.report': Type.Integer({ minimum: 1 }),
  employee_id: Type.String(),
  line: Type.String(),
});

/** Lines read at once, of a few hundred employees. */
const LINES_AT_ONCE = 1_000;

/** Yields the employees that recorded reports on a run name, each perhaps several times. */
export async function* employeesReported(db: Db, runId: string): AsyncGenerator<string[]> {
  const lines = recordedLines(db)
    .where('taken_lines.run_id', '=', runId)
    .select(['taken_lines.report', 'employee_id', 'line']);
  for await (const page of allPages((cursor) => linePage(lines, { cursor, limit: LINES_AT_ONCE })))
    yield [...new Set(page.map(({ employee_id }) => employee_id))];
}

type TakenFilter = { reportId?: string | undefined; employeeId?: string | undefined };

/** Returns a page of the lines that recorded reports on a run name: by report, the first one first, and by employee. */
export async function listTakenLines(
  db: Db,
  stored: StoredRun,
  { reportId, employeeId }: TakenFilter,
  request: PageRequest,
): Promise<ListPage<TakenLine>> {
  if (stored.freeze_id === null) return EMPTY_PAGE;
  const lines = recordedLines(db)
    .where('taken_lines.run_id', '=', stored.run_id)
    .select(['taken_lines.report', 'employee_id', 'line', 'amount', 'owed'])
    .$if(reportId !== undefined, (query) => query.where('taken_lines.report', '=', Number(reportId)))
    .$if(employeeId !== undefined, (query) => query.where('employee_id', '=', employeeId as string));
  const page = await linePage(lines, request);
  const employees = [...new Set(page.data.map((row) => row.employee_id))];
  const latest = await latestReports(db, stored.run_id, employees);
  const frozen = await frozenLines(db, [stored.freeze_id], employees, storedRecords);
  const data = page.data.map(({ report, line: key, amount, owed, ...row }): TakenLine => {
    const lines = frozen.get(row.employee_id)?.flatMap(({ lines }) => lines) ?? [];
    const line = lines.find((candidate) => lineKey(candidate) === key);
    if (line === undefined) throw lineMissing(stored.run_id);
    const counts = latest.get(JSON.stringify([row.employee_id, key])) ?? report;
    const { deduction_id, line_of_coverage, taxability, kind, adjustment_for } = line;
    return {
      report_id: String(report),
      ...row,
      ...{ deduction_id, line_of_coverage, taxability, kind, adjustment_for },
      member_amount: amountOf(centsOf(amount) + centsOf(owed)),
      taken: amount,
      owed,
      replaced_by: counts === report ? null : String(counts),
    };
  });
  return { ...page, data };
}

/** Returns the latest recorded report that names each line of employees. */
async function latestReports(db: Db, runId: string, employees: readonly string[]) {
  const rows = await recordedLines(db)
    .where('taken_lines.run_id', '=', runId)
    .select(['employee_id', 'line'])
    .select((eb) => eb.fn.max('taken_lines.report').as('latest'))
    .where(isOneOf(db, 'employee_id', employees))
    .groupBy(['employee_id', 'line'])
    .execute();
  return new Map(rows.map(({ employee_id, line, latest }) => [JSON.stringify([employee_id, line]), latest]));
}

function lineMissing(runId: string) {
  return new AppError(
    'STORED_JSON_DAMAGED',
    `run ${runId} has no line that a report of it names: run "benefits-sidecar verify", and restore a backup if it reports differences`,
  );
}
