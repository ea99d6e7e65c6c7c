/** The commands that read files of payroll: deductions taken, and the audit. */
import type { Command } from 'commander';
import { AppError } from '../../errors.ts';
import { AUDIT_COLUMNS, auditRun } from '../../payroll/reconciliation/audit.ts';
import type { Audit, AuditRow, AuditTotals, Naming } from '../../payroll/reconciliation/audit-categories.ts';
import { recordTaken, TAKEN_COLUMNS } from '../../payroll/reconciliation/taken.ts';
import { linesOfRun } from '../../payroll/runs/line-pages.ts';
import { findRowsFile, jsonOption, ROWS_FILE } from '../arguments.ts';
import { type Act, type Context, withDatabase } from '../context.ts';
import { inputRefused } from '../failure.ts';
import { adding, type Cell, counted, type Output, printTable, showProgress } from '../output.ts';
import { storedRun } from './show.ts';

export function addPayrollFileCommands(run: Command, act: Act): void {
  run
    .command('taken')
    .description('report what payroll took of a finalized run; sent again it replaces the report before')
    .argument('<run-id>')
    .argument('<file>', `${ROWS_FILE}: employee_id, amount, and what tells the line from others`)
    .addOption(jsonOption())
    .action(act(runTaken));
  run
    .command('audit')
    .description("compare a run with payroll's own file; 0 when nothing differs")
    .argument('<run-id>')
    .argument('<file>', `${ROWS_FILE}: employee_id, what it is for, member_amount, employer_amount`)
    .addOption(jsonOption())
    .action(act(runAudit));
}

/**
 * Records the deductions taken for a finalized run. Lines that it names replace those of earlier reports. One wrong row
 * rejects all.
 */
async function runTaken(
  context: Context,
  runId: string,
  path: string,
  { json }: { json?: true },
): Promise<number> {
  const { out, now } = context;
  const file = await findRowsFile(path);
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    if (stored.state !== 'finalized') {
      throw new AppError(
        'COMMAND_FAILED',
        `the run is ${stored.state}: what was taken is reported of a finalized one`,
      );
    }
    const progress = await showProgress(out, 'bytes', file.size);
    const rows = file.open(TAKEN_COLUMNS, adding(progress));
    const recorded = await recordTaken(db, stored, rows, now().toISOString()).finally(progress.end);
    if (!recorded.ok) throw inputRefused('the file', recorded.problems, recorded.problem_count);
    const { id, lines, owed } = recorded;
    if (json) out.json({ id, lines, owed });
    else {
      out.print(`report ${id}: ${counted(lines, 'line')} named, the others taken in full; owed ${owed}`);
    }
    return 0;
  });
}

const CATEGORIES = {
  only_here: 'only here',
  only_in_payroll: 'only in payroll',
  amount_differs: 'amount differs',
  employee_unknown: 'employee unknown',
} as const satisfies Partial<Record<keyof Audit, string>>;
const CATEGORY_NAMES = Object.keys(CATEGORIES) as (keyof typeof CATEGORIES)[];

/** Rows of each category that are printed; `--json` has the first thousand. */
const ROWS_SHOWN = 20;

/** Compares a run with a file of payroll and keeps nothing. Returns 0 if nothing differs, like `diff`. */
async function runAudit(
  context: Context,
  runId: string,
  path: string,
  { json }: { json?: true },
): Promise<number> {
  const { out } = context;
  const file = await findRowsFile(path);
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    const { pages } = await linesOfRun(db, stored, null);
    const run = { employerId: stored.employer_id, pages };
    const audited = await auditRun(db, run, file.open(AUDIT_COLUMNS));
    if (!audited.ok) throw inputRefused('the file', audited.problems, audited.problem_count);
    if (json) out.json(audited.audit);
    else printAudit(out, audited.audit);
    return CATEGORY_NAMES.every((name) => audited.audit[name].count === 0) ? 0 : 1;
  });
}

function printAudit(out: Output, audit: Audit): void {
  printTable(
    out,
    ['', 'count', ...AMOUNTS],
    [
      ['matched', ...totalsOf(audit.matched)],
      ...CATEGORY_NAMES.map((name): Cell[] => [CATEGORIES[name], ...totalsOf(audit[name])]),
    ],
  );
  for (const name of CATEGORY_NAMES) {
    const { rows, count } = audit[name];
    if (count === 0) continue;
    out.print(`\n${out.color('bold', CATEGORIES[name])}`);
    const shown = rows.slice(0, ROWS_SHOWN);
    const head = ['employee', ...audit.compared_by.map((naming) => naming.replaceAll('_', ' ')), ...AMOUNTS];
    printTable(
      out,
      head,
      shown.map((row) => cellsOf(row, audit.compared_by)),
    );
    if (count > shown.length)
      out.note(`${count - shown.length} more of ${CATEGORIES[name]}: --json has more`);
  }
}

const AMOUNTS = ['employee pays here', 'in payroll', 'employer pays here', 'in payroll'] as const;

function totalsOf(totals: AuditTotals): Cell[] {
  return [totals.count, ...amountsOf(totals)];
}

function cellsOf(row: AuditRow, names: readonly Naming[]): Cell[] {
  return [row.employee_id, ...names.map((name) => row[name]), ...amountsOf(row)];
}

function amountsOf(amounts: AuditTotals | AuditRow): Cell[] {
  return [
    amounts.member_amount,
    amounts.payroll_member_amount,
    amounts.employer_amount,
    amounts.payroll_employer_amount,
  ];
}
