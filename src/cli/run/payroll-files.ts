/** The commands that read files of payroll: deductions taken, and the audit. */
import { dollars } from '../../money.ts';
import { recordTaken } from '../../payroll/facts/taken.ts';
import { listTakenLines, type TakenLine } from '../../payroll/facts/taken-lines.ts';
import { TAKEN_COLUMNS } from '../../payroll/facts/taken-rows.ts';
import { linesOfRun } from '../../payroll/lifecycle/line-pages.ts';
import {
  AUDIT_COLUMNS,
  type Audit,
  type AuditRow,
  type AuditTotals,
  auditRun,
} from '../../payroll/reconciliation/audit.ts';
import { findRowsFile, ROWS_FILE, wholeNumber } from '../arguments.ts';
import { actingIn, type Command, type PageOptions } from '../command.ts';
import { failed, inputRefused } from '../failure.ts';
import {
  type Column,
  counted,
  type Output,
  printPage,
  printResult,
  printTable,
  withProgress,
} from '../output.ts';
import { storedRun } from './show.ts';

export function addPayrollFileCommands(run: Command): void {
  run
    .subcommand('taken', 'Report the deductions taken. A later report replaces only the lines it names.')
    .records('run.taken')
    .examples('run taken mb-2026-07 taken.csv')
    .argument('<run-id>', 'The id of the finalized run')
    .argument(
      '<file>',
      `A ${ROWS_FILE} with employee_id, amount (0.00 without a line: nothing was taken), line_of_coverage or payroll_code, and over: true if more was taken`,
    )
    .json()
    .doesOnDatabase(async (context, runId: string, path: string) => {
      const { db, out } = context;
      // One wrong row rejects the whole report.
      const file = await findRowsFile(path);
      const stored = await storedRun(db, runId);
      if (stored.state !== 'finalized') {
        throw failed(`the run is ${stored.state}: deductions taken can be reported for a finalized run`);
      }
      const recorded = await withProgress(out, 'bytes', file.size, ({ add }) =>
        recordTaken(db, stored, file.open(TAKEN_COLUMNS, add), actingIn(context)),
      );
      if (!recorded.ok) throw inputRefused('the file', recorded);
      const { id, lines, owed } = recorded;
      const line = `Report ${id}: ${counted(lines, 'line')} named. Arrears of these lines: ${dollars(owed)}`;
      printResult(out, { id, lines, owed }, line);
    });
  run
    .subcommand('taken-lines', 'List the lines that reports of deductions taken name.')
    .records('none')
    .examples('run taken-lines mb-2026-07', 'run taken-lines mb-2026-07 --report 1')
    .argument('<run-id>', 'The id of the run')
    .option('--report <id>', 'Only this report', wholeNumber(1, 999_999_999))
    .option('--employee <id>', 'Only this employee')
    .page()
    .doesOnDatabase(async ({ db, out }, runId: string, options: TakenLinesOptions) => {
      const { report, employee, limit, cursor } = options;
      const filter = { reportId: report?.toString(), employeeId: employee };
      const page = await listTakenLines(db, await storedRun(db, runId), filter, { cursor, limit });
      printPage(out, page, { columns: TAKEN_LINE_COLUMNS, rows: page.data, none: 'No reported lines.' });
    });
  run
    .subcommand('audit', "Compare a run with payroll's own file. The exit code is 0 if they agree.")
    .records('none')
    .examples('run audit mb-2026-07 payroll.csv', 'run audit mb-2026-07 payroll.csv --wide')
    .argument('<run-id>', 'The id of the run')
    .argument('<file>', `A ${ROWS_FILE} with employee_id, line_of_coverage, member_amount`)
    .table()
    .doesOnDatabase(async ({ db, out }, runId: string, path: string) => {
      // Stores nothing. Returns 0 if nothing differs, like `diff`.
      const file = await findRowsFile(path);
      const stored = await storedRun(db, runId);
      const { pages } = await linesOfRun(db, stored);
      const run = { employerId: stored.employer_id, pages };
      const audited = await auditRun(db, run, file.open(AUDIT_COLUMNS));
      if (!audited.ok) throw inputRefused('the file', audited);
      printResult(out, audited.audit, () => printAudit(out, audited.audit));
      return CATEGORY_NAMES.every((name) => audited.audit[name].count === 0) ? 0 : 1;
    });
}

type TakenLinesOptions = PageOptions & { report?: number; employee?: string };

const TAKEN_LINE_COLUMNS: readonly Column<TakenLine>[] = [
  ['report', (row) => row.report_id],
  ['employee', (row) => row.employee_id],
  ['coverage', (row) => row.line_of_coverage],
  ['kind', (row) => row.kind],
  ['deduction', (row) => row.deduction_id, 3],
  ['for run', (row) => row.adjustment_for, 2],
  ['in the run', (row) => dollars(row.member_amount)],
  ['taken', (row) => dollars(row.taken)],
  ['arrears', (row) => dollars(row.owed)],
  ['replaced by', (row) => row.replaced_by && `report ${row.replaced_by}`],
];

const CATEGORIES = {
  only_here: 'only here',
  only_in_payroll: 'only in payroll',
  amount_differs: 'amount differs',
  employee_unknown: 'employee unknown',
} as const satisfies Partial<Record<keyof Audit, string>>;
const CATEGORY_NAMES = Object.keys(CATEGORIES) as (keyof typeof CATEGORIES)[];

/** Rows of each category that are printed; `--json` has the first thousand. */
const ROWS_SHOWN = 20;

function printAudit(out: Output, audit: Audit): void {
  const totals = [
    { name: 'matched', ...audit.matched },
    ...CATEGORY_NAMES.map((name) => ({ name: CATEGORIES[name], ...audit[name] })),
  ];
  printTable(out, [['', ({ name }) => name], ['count', ({ count }) => count], ...AMOUNTS], totals);
  for (const name of CATEGORY_NAMES) {
    const { rows, count } = audit[name];
    if (count === 0) continue;
    out.print(`\n${out.color('bold', CATEGORIES[name])}`);
    const named = audit.compared_by.map(
      (naming): Column<AuditRow> => [naming.replaceAll('_', ' '), (row) => row[naming]],
    );
    const near: Column<AuditRow>[] = rows.some(({ near_employee_id }) => near_employee_id !== undefined)
      ? [['roster has', (row) => row.near_employee_id]]
      : [];
    const employee: Column<AuditRow> = ['employee', (row) => row.employee_id];
    const columns = [employee, ...near, ...named, ...AMOUNTS];
    printTable(out, columns, rows.slice(0, ROWS_SHOWN));
    const left = count - ROWS_SHOWN;
    if (left > 0) out.note(`${left} more rows: ${CATEGORIES[name]}. Use --json to see up to 1,000.`);
  }
}

const AMOUNTS: readonly Column<AuditTotals | AuditRow>[] = [
  ['employee here', (row) => row.member_amount && dollars(row.member_amount)],
  ['in payroll', (row) => row.payroll_member_amount && dollars(row.payroll_member_amount)],
  ['employer here', (row) => row.employer_amount && dollars(row.employer_amount), 1],
  ['in payroll', (row) => row.payroll_employer_amount && dollars(row.payroll_employer_amount), 1],
];
