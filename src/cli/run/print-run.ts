/** Prints runs for people: their request and state, their totals, and what changed since the previous run. */
import type { ResultOf } from '../../api/operation.ts';
import type { previewPayrollRun } from '../../api/operations/payroll-run-creation.ts';
import type { getPayrollRun } from '../../api/operations/payroll-runs.ts';
import { recoupText } from '../../formats/recoup.ts';
import { dollars } from '../../money.ts';
import { Run } from '../../payroll/records/body.ts';
import { type Column, employeeId, type Output, printPairs, printTable } from '../output.ts';

type PayrollRun = ResultOf<typeof getPayrollRun>;
type Totals = PayrollRun['totals'];
type Sum = Totals['by_line_of_coverage'][number] | Totals['by_taxability'][number] | Totals;
type AnyRun = PayrollRun | ResultOf<typeof previewPayrollRun>;

export function printRun(out: Output, run: AnyRun): void {
  printPairs(out, 'id' in run ? pairsOf(run) : requestedPairs(run));
  printTotals(out, run);
  printComparison(out, run);
}

function pairsOf(run: PayrollRun) {
  return {
    run: run.id,
    state: run.state,
    ...requestedPairs(run),
    ...(run.finalized_at !== null && {
      finalized: run.finalized_at,
      'finalized by': run.finalized_by?.name ?? null,
      'approved by': run.approved_by?.name ?? null,
    }),
    ...(run.accept_reason !== null && {
      'accepted checks': run.accepted_checks.join(', '),
      'reason to accept': run.accept_reason,
      'accepted by': run.accepted_by?.name ?? null,
    }),
    ...(run.taken_reports.length > 0 && { 'taken reports': run.taken_reports.length }),
    ...(run.voided_at !== null && {
      voided: run.voided_at,
      'voided by': run.voided_by?.name ?? null,
      'voiding approved by': run.void_approved_by?.name ?? null,
      'reason to void': run.void_reason,
    }),
  };
}

type Pair = readonly [name: string, value: string | number | null];

/** Fields that are not shown as their name and their value. Null: another field shows them. */
const WORDED: Partial<Record<keyof Run, (run: AnyRun) => Pair | null>> = {
  employer_id: (run) => ['employer', run.employer_id],
  period_start: (run) => ['period', `${run.period_start} to ${run.period_end}`],
  period_end: () => null,
  employee_ids: (run) => ['only employees', countOf(run.employee_ids)],
  deductions: (run) => ['only deductions', countOf(run.deductions)],
  items: (run) => ['only items', countOf(run.items)],
  open_items: (run) => ['open items', run.open_items_policy],
  recoup: (run) => ['recoup', recoupText(run.recoup)],
  final_checks: (run) => ['final checks', countOf(run.final_checks)],
};
const LISTS: readonly string[] = ['employee_ids', 'deductions', 'items', 'final_checks'];

/** Returns every field of the run's body, lists of ids last, and what it was computed with. */
function requestedPairs(run: AnyRun): Record<string, string | number | null> {
  const names = Object.keys(Run.properties) as (keyof Run)[];
  const inOrder = [
    ...names.filter((name) => !LISTS.includes(name)),
    ...names.filter((name) => LISTS.includes(name)),
  ];
  const pairs = inOrder.flatMap((name) => {
    const worded = WORDED[name];
    const pair =
      worded === undefined ? ([name.replaceAll('_', ' '), String(run[name] ?? '')] as const) : worded(run);
    return pair === null ? [] : [pair];
  });
  const dates = run.pay_dates_used?.length ?? 'no pay schedule';
  return {
    ...Object.fromEntries(pairs),
    'pay dates of the year': dates,
    'ledger position': run.position,
    rules: run.rules_version,
  };
}

function countOf(ids: readonly unknown[] | null): string | null {
  return ids === null || ids.length === 0 ? null : `${ids.length} selected`;
}

/** Prints the totals and the ETag to finalize exactly these lines. */
export function printTotals(
  out: Output,
  { totals, employees, etag }: { totals: Totals; employees: number; etag: string },
): void {
  out.print('');
  printTable(out, SUM_COLUMNS, [
    ...totals.by_line_of_coverage.map((sum) => ({ ...sum, name: sum.line_of_coverage })),
    ...totals.by_taxability.map((sum) => ({ ...sum, name: `all ${sum.taxability}` })),
    { ...totals, name: 'total' },
  ]);
  out.print('');
  printPairs(out, { employees, ETag: etag });
}

/** Prints the comparison with the previous run, what stays open, and employees with a deduction who are not in this run. */
function printComparison(out: Output, run: AnyRun): void {
  const { comparison, not_in_run, not_in_run_count, on_other_schedules, open_items } = run;
  if (comparison !== null) {
    const { employees, totals, by_line_of_coverage, largest_movers } = comparison;
    out.print('');
    printPairs(out, {
      'previous run': comparison.previous_run_id,
      'employees before': employees.previous,
      joined: employees.joined,
      left: employees.left,
    });
    out.print('');
    printTable(out, comparedColumns<{ name: string }>(['employees pay', ({ name }) => name]), [
      ...by_line_of_coverage.map((row) => ({ ...row, name: row.line_of_coverage })),
      { ...totals, name: 'total' },
    ]);
    if (largest_movers.length > 0) {
      out.print('');
      printTable(out, comparedColumns(['largest changes', employeeId]), largest_movers);
    }
  }
  if (open_items.length > 0) {
    out.print('');
    printTable(out, OPEN_ITEM_COLUMNS, open_items);
  }
  if (on_other_schedules.length > 0) {
    out.print('');
    printTable(out, ON_OTHER_SCHEDULES_COLUMNS, on_other_schedules);
  }
  if (not_in_run_count === 0) return;
  out.print('');
  printTable(out, NOT_IN_RUN_COLUMNS, not_in_run.slice(0, NOT_IN_RUN_SHOWN));
  const left = not_in_run_count - NOT_IN_RUN_SHOWN;
  if (left > 0) out.print(`… and ${left} more. Use --json to see up to 10,000.`);
}

/** Employees printed; the JSON has more. */
const NOT_IN_RUN_SHOWN = 50;

const NOT_IN_RUN_COLUMNS: readonly Column<PayrollRun['not_in_run'][number]>[] = [
  ['not in the run', employeeId],
  ['reason', ({ reason }) => reason],
];

const OPEN_ITEM_COLUMNS: readonly Column<PayrollRun['open_items'][number]>[] = [
  ['stays open', ({ kind }) => kind.replaceAll('_', ' ')],
  ['items', ({ items }) => items],
  ['employees', (sum) => sum.employees],
  ['employees pay', (sum) => dollars(sum.member_amount)],
  ['employer pays', (sum) => dollars(sum.employer_amount)],
];

const ON_OTHER_SCHEDULES_COLUMNS: readonly Column<PayrollRun['on_other_schedules'][number]>[] = [
  ['on another pay schedule', ({ pay_frequency }) => pay_frequency],
  ['pay group', ({ pay_group }) => pay_group ?? ''],
  ['employees', ({ employees }) => employees],
];

type Compared = { previous_member_amount: string; member_amount: string; member_difference: string };

function comparedColumns<Row>(first: Column<Compared & Row>): readonly Column<Compared & Row>[] {
  return [
    first,
    ['before', (row) => dollars(row.previous_member_amount)],
    ['now', (row) => dollars(row.member_amount)],
    ['difference', (row) => dollars(row.member_difference)],
  ];
}

const SUM_COLUMNS: readonly Column<Sum & { name: string }>[] = [
  ['', ({ name }) => name],
  ['employees', (sum) => sum.employees],
  ['lines', (sum) => sum.lines],
  ['employees pay', (sum) => dollars(sum.member_amount)],
  ['employer pays', (sum) => dollars(sum.employer_amount)],
];
