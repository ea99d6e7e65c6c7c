/** Prints runs and their lines. */
import type { Line } from '../../payroll/calculation/line.ts';
import type { PayrollRun, PayrollRunPreview } from '../../payroll/run-view.ts';
import type { Sum, Totals } from '../../payroll/runs/totals.ts';
import { type Output, printable, printPairs, printTable } from '../output.ts';

export function printRun(out: Output, run: PayrollRun): void {
  printPairs(out, {
    run: run.id,
    state: run.state,
    ...askedPairs(run),
    ...(run.finalized_at !== null && { finalized: run.finalized_at }),
    ...(run.accept_reason !== null && {
      'accepted checks': run.accepted_checks.join(', '),
      'accepted because': run.accept_reason,
    }),
    ...(run.taken_reports.length > 0 && { 'taken reports': run.taken_reports.length }),
    ...(run.voided_at !== null && { voided: run.voided_at, 'voided because': run.void_reason }),
  });
  printTotals(out, run);
  printComparison(out, run);
}

export function printPreview(out: Output, run: PayrollRunPreview): void {
  printPairs(out, askedPairs(run));
  printTotals(out, run);
  printComparison(out, run);
}

function askedPairs(run: PayrollRun | PayrollRunPreview) {
  return {
    employer: run.employer_id,
    kind: run.kind,
    'pay frequency': run.pay_frequency,
    'pay group': run.pay_group,
    period: `${run.period_start} to ${run.period_end}`,
    'pay date': run.pay_date,
    'pay dates of the year': payDatesOf(run),
    scheme: `${run.scheme}, remainder ${run.remainder}`,
    'in effect on': run.applies_on,
    'extra paycheck': run.extra_paycheck,
    adjustments: run.adjustments,
    arrears: run.arrears,
    'policy reason': run.policy_reason,
    'only employees': countOf(run.employee_ids),
    'only deductions': countOf(run.deductions),
    'final checks': countOf(run.final_checks),
    'ledger position': run.position,
    rules: run.rules_version,
  };
}

function payDatesOf({ pay_dates_used, calendar_assumed }: PayrollRun | PayrollRunPreview): string {
  if (pay_dates_used === null) return 'not known, and not needed';
  return `${pay_dates_used.length}${calendar_assumed ? ', assumed by stepping from this one' : ''}`;
}

function countOf(ids: readonly string[] | null): string | null {
  return ids === null || ids.length === 0 ? null : `${ids.length} named`;
}

/** Prints the totals and the ETag to finalize exactly these lines. */
export function printTotals(
  out: Output,
  { totals, employees, etag }: { totals: Totals; employees: number; etag: string },
): void {
  out.print('');
  printTable(
    out,
    ['', 'employees', 'lines', 'employees pay', 'employer pays'],
    [
      ...totals.by_line_of_coverage.map((sum) => cellsOf(sum.line_of_coverage, sum)),
      ...totals.by_taxability.map((sum) => cellsOf(`all ${sum.taxability}`, sum)),
      cellsOf('total', totals),
      ...(totals.reported.lines > 0 ? [cellsOf('reported, in no total', totals.reported)] : []),
    ],
  );
  out.print('');
  printPairs(out, { 'employees in the run': employees, etag });
}

/** Prints the comparison with the previous run, and employees with a deduction who are not in this run. */
function printComparison(out: Output, run: PayrollRun | PayrollRunPreview): void {
  const { comparison, not_in_run, not_in_run_count } = run;
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
    printTable(
      out,
      ['employees pay', 'before', 'now', 'difference'],
      [
        ...by_line_of_coverage.map((row) => [row.line_of_coverage, ...comparedAmounts(row)]),
        ['total', ...comparedAmounts(totals)],
      ],
    );
    if (largest_movers.length > 0) {
      out.print('');
      printTable(
        out,
        ['largest movers', 'before', 'now', 'difference'],
        largest_movers.map((mover) => [mover.employee_id, ...comparedAmounts(mover)]),
      );
    }
  }
  if (not_in_run_count === 0) return;
  out.print('');
  printTable(
    out,
    ['not in the run', 'reason'],
    not_in_run.slice(0, NOT_IN_RUN_SHOWN).map(({ employee_id, reason }) => [employee_id, reason]),
  );
  const left = not_in_run_count - NOT_IN_RUN_SHOWN;
  if (left > 0) out.print(`and ${left} more: --json has up to 10,000`);
}

/** Employees printed; the JSON has more. */
const NOT_IN_RUN_SHOWN = 50;

/** Wide enough for 999,999,999.99 without separators, so that decimal points line up. */
const AMOUNT_WIDTH = 13;

type Compared = { previous_member_amount: string; member_amount: string; member_difference: string };

function comparedAmounts({ previous_member_amount, member_amount, member_difference }: Compared): string[] {
  return [previous_member_amount, member_amount, member_difference].map((amount) =>
    amount.padStart(AMOUNT_WIDTH),
  );
}

function cellsOf(
  name: string,
  { employees, lines, member_amount, employer_amount }: Sum,
): (string | number)[] {
  return [
    name,
    employees,
    lines,
    member_amount.padStart(AMOUNT_WIDTH),
    employer_amount.padStart(AMOUNT_WIDTH),
  ];
}

/** The longest line of coverage has 31 characters. An amount of 9 has six digits before the point. */
const WIDTH = { coverage: 32, amount: 10 };

/**
 * Prints lines below the id of their employee. Widths are fixed, because pages are printed before the next one is
 * known.
 */
export function printLines(out: Output, lines: readonly Line[]): void {
  for (const [index, line] of lines.entries()) {
    if (line.employee_id !== lines[index - 1]?.employee_id) {
      out.print(out.color('bold', printable(line.employee_id)));
    }
    printLine(out, line);
  }
}

function printLine(out: Output, line: Line): void {
  const amounts = [line.member_amount, line.employer_amount].map((amount) => amount.padStart(WIDTH.amount));
  const details = [
    line.taxability,
    line.kind === 'regular' ? '' : `${line.kind} of ${line.adjustment_for}`,
    changeOf(line),
    amountChangeOf(line),
    line.payroll_code === null ? '' : `code ${line.payroll_code}`,
  ].filter((text) => text !== '');
  const flags = line.flags.length === 0 ? '' : `  ${out.color('yellow', line.flags.join(', '))}`;
  out.print(
    `  ${line.line_of_coverage.padEnd(WIDTH.coverage)}${amounts.join('')}  ${printable(details.join(', '))}${flags}`,
  );
  for (const text of sentencesOf(line)) out.print(`    ${out.color('dim', printable(text))}`);
}

/** Returns the explanations of the amounts: the employee's, the employer's, and the difference of an adjustment. */
export function sentencesOf({ explanation }: Line): string[] {
  return explanation.split('; plus ');
}

/** Returns the change of the election against the previous finalized run. */
export function changeOf({ change, previous_amount, member_amount }: Line): string {
  if (change === 'changed' && previous_amount !== member_amount) return `changed from ${previous_amount}`;
  return change === 'ended' ? `ended, was ${previous_amount}` : (change ?? '');
}

/** Returns why the amounts of a continuing election differ from the previous run, and by how much. */
function amountChangeOf({ change, amount_change, member_difference, employer_difference }: Line): string {
  const isInBoth = change === 'same' || change === 'changed';
  if (!isInBoth || amount_change === null || amount_change === 'same') return '';
  return `amount change: ${amount_change} (employee ${signed(member_difference)}, employer ${signed(employer_difference)})`;
}

function signed(amount: string | null): string {
  return amount?.startsWith('-') === false ? `+${amount}` : String(amount);
}
