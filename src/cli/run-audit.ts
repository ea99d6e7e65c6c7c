import { AUDIT_COLUMNS, auditRun } from '../payroll/reconciliation/audit.ts';
import type { Audit, AuditRow, AuditTotals, Naming } from '../payroll/reconciliation/audit-categories.ts';
import { linesOfRun } from '../payroll/runs/line-pages.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import type { Output } from './output.ts';
import { Refused } from './refused.ts';
import { findRowsFile } from './rows-file.ts';
import { storedRun } from './run-find.ts';
import { type Cell, printTable } from './table.ts';

const HEAPS = {
  only_here: 'only here',
  only_in_payroll: 'only in payroll',
  amount_differs: 'amount differs',
  employee_unknown: 'employee unknown',
} as const satisfies Partial<Record<keyof Audit, string>>;
const HEAP_NAMES = Object.keys(HEAPS) as (keyof typeof HEAPS)[];

/** Rows of each heap that people see; `--json` has the first thousand. */
const ROWS_SHOWN = 20;

/** Compares a run with payroll's own file; exit code 0 when nothing differs, as with `diff`. Keeps nothing. */
export async function runAudit(
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
    if (!audited.ok) throw new Refused('the file', audited.problems, audited.problem_count);
    if (json) out.json(audited.audit);
    else printAudit(out, audited.audit);
    return HEAP_NAMES.every((name) => audited.audit[name].count === 0) ? 0 : 1;
  });
}

function printAudit(out: Output, audit: Audit): void {
  printTable(
    out,
    ['', 'count', ...AMOUNTS],
    [
      ['matched', ...totalsOf(audit.matched)],
      ...HEAP_NAMES.map((name): Cell[] => [HEAPS[name], ...totalsOf(audit[name])]),
    ],
  );
  for (const name of HEAP_NAMES) {
    const { rows, count } = audit[name];
    if (count === 0) continue;
    out.print(`\n${out.colour('bold', HEAPS[name])}`);
    const shown = rows.slice(0, ROWS_SHOWN);
    const head = ['employee', ...audit.compared_by.map((naming) => naming.replaceAll('_', ' ')), ...AMOUNTS];
    printTable(
      out,
      head,
      shown.map((row) => cellsOf(row, audit.compared_by)),
    );
    if (count > shown.length) out.note(`${count - shown.length} more of ${HEAPS[name]}: --json has more`);
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
