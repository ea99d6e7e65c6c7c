/** The paychecks of an employee: the lines of finalized runs, and what payroll reported as taken. */
import Type, { type Static } from 'typebox';
import { component, nullable, text } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { EMPTY_PAGE, type ListPage, type PageRequest } from '../../formats/cursor.ts';
import type { Viewer } from '../../ledger/visibility.ts';
import { amountOf, centsOf } from '../../money.ts';
import { amountField, LineRecord, lineKey } from '../calculation/line.ts';
import { owedBy } from '../facts/owed.ts';
import { finalizedLinesOf, storedRecords } from '../records/frozen-lines.ts';
import { PayrollRunSummary } from './run-view.ts';
import { withVisibleCauses } from './visible-causes.ts';

const { employer_id, kind, pay_date, period_start, period_end } = PayrollRunSummary.properties;

const PaycheckLine = component(
  'PaycheckLine',
  {
    ...LineRecord.properties,
    taken: nullable(
      amountField(
        'The employee amount that payroll took, by the latest report. Null: no report names the line, so it was taken in full.',
      ),
    ),
  },
  'One deduction from a paycheck of a finalized run.',
);

export const Paycheck = component(
  'Paycheck',
  {
    id: text('The ID of the paycheck: an employee has one in each run, so it is the ID of the run.'),
    run_id: PayrollRunSummary.properties.id,
    ...{ employer_id, kind, pay_date, period_start, period_end },
    member_amount: amountField('The sum of the employee amounts.'),
    employer_amount: amountField('The sum of the employer amounts.'),
    lines: Type.Array(PaycheckLine),
  },
  'What a finalized run takes from one paycheck of an employee.',
);
export type Paycheck = Static<typeof Paycheck>;

/** The employers whose runs are listed. `viewer`: a caller limited to employers, or null. */
type PaychecksSight = { employers: readonly string[]; viewer: Viewer | null };

/** Returns a page of the paychecks of an employee with these employers, the latest pay date first. Voided runs are left out. */
export async function listPaychecks(
  db: Db,
  employeeId: string,
  { employers, viewer }: PaychecksSight,
  request: PageRequest,
): Promise<ListPage<Paycheck>> {
  if (employers.length === 0) return EMPTY_PAGE;
  const page = await finalizedLinesOf(db, employeeId, employers, request);
  const shown = page.data;
  const inputs = shown.map(({ run_id }) => ({ run_id, report: Number.MAX_SAFE_INTEGER, is_voided: false }));
  const owed = (await owedBy(db, inputs, [employeeId])).get(employeeId) ?? [];
  const stored = shown.flatMap((row) => storedRecords(row).map((line) => ({ ...line, run_id: row.run_id })));
  const visible = await withVisibleCauses(db, viewer, stored);
  const linesByRun = Map.groupBy(visible, (line) => line.run_id);
  const owedByRun = Map.groupBy(owed, ({ runId }) => runId);
  const data = shown.map((row): Paycheck => {
    const { run_id, employer_id, kind, pay_date, period_start, period_end } = row;
    const lines = linesByRun.get(run_id) ?? [];
    const reported = new Map((owedByRun.get(run_id) ?? []).map(({ line, owed: amount }) => [line, amount]));
    return {
      ...{ id: run_id, run_id, employer_id, kind, pay_date, period_start, period_end },
      member_amount: sumOf(lines.map((line) => line.member_amount)),
      employer_amount: sumOf(lines.map((line) => line.employer_amount)),
      lines: lines.map(({ run_id: _, ...line }) => {
        const amount = reported.get(lineKey(line));
        return {
          ...line,
          taken: amount === undefined ? null : amountOf(centsOf(line.member_amount) - amount),
        };
      }),
    };
  });
  return { ...page, data };
}

function sumOf(amounts: readonly string[]): string {
  return amountOf(amounts.reduce((sum, amount) => sum + centsOf(amount), 0n));
}
