/** The commands that read files of payroll: deductions taken, and the audit. */
import type { ResultOf } from '../../api/operation.ts';
import { auditPayrollRun, listTakenLines, recordTaken } from '../../api/operations/payroll-run-lines.ts';
import { dollars } from '../../money.ts';
import type { Command } from '../command.ts';
import { printRepairs } from '../file-formats.ts';
import { addOperation } from '../operation-command.ts';
import { type Column, counted, employeeId, type Output, printTable } from '../output.ts';

export function addPayrollFileCommands(run: Command): void {
  addOperation(run, 'taken', recordTaken, {
    description: 'Report the deductions taken. A later report replaces only the lines it names.',
    examples: ['mb-2026-07 taken.csv', 'mb-2026-07 taken.csv --preview'],
    arguments: ['run_id'],
    file: 'employee_id, amount (0.00 without a line: nothing was taken), line_of_coverage or payroll_code, and over: true if more was taken',
    print(out, { id, lines, owed, unnamed_codes, repairs }, { preview }) {
      printRepairs(out, repairs);
      out.print(
        `${preview === true ? 'Not recorded' : `Report ${id}`}: ${counted(lines, 'line')} named. Arrears of these lines: ${dollars(owed)}`,
      );
      for (const { payroll_code, lines: of, member_amount } of unnamed_codes)
        out.note(
          `The file has no amount of the code ${payroll_code}: ${counted(of, 'line')} of ${dollars(member_amount)} count as taken in full. If payroll did not take them, report them with 0.00.`,
        );
    },
  });
  addOperation(run, 'taken-lines', listTakenLines, {
    description: 'List the lines that reports of deductions taken name.',
    examples: ['mb-2026-07', 'mb-2026-07 --report 1'],
    arguments: ['run_id'],
    columns: TAKEN_LINE_COLUMNS,
    none: 'No reported lines.',
  });
  addOperation(run, 'audit', auditPayrollRun, {
    description: "Compare a run with payroll's own file. The exit code is 0 if they agree.",
    examples: ['mb-2026-07 payroll.csv', 'mb-2026-07 payroll.csv --wide'],
    arguments: ['run_id'],
    file: 'employee_id, line_of_coverage, member_amount',
    isTable: true,
    print: printAudit,
    exitCode: (audit) => (CATEGORY_NAMES.every((name) => audit[name].count === 0) ? 0 : 1),
  });
}

type TakenLine = ResultOf<typeof listTakenLines>['data'][number];
type Audit = ResultOf<typeof auditPayrollRun>;
type AuditRow = Audit['only_here']['rows'][number];
type AuditTotals = Audit['matched'];

const TAKEN_LINE_COLUMNS: readonly Column<TakenLine>[] = [
  ['report', (row) => row.report_id],
  ['employee', employeeId],
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
  printRepairs(out, audit.repairs);
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
    const employee: Column<AuditRow> = ['employee', employeeId];
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
