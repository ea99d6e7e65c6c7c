/** The commands that show runs, and what they print. */

import { once } from 'node:events';
import type { Db, RunState } from '../../database/tables.ts';
import { recoupText } from '../../formats/recoup.ts';
import { dollars } from '../../money.ts';
import type { LineRecord } from '../../payroll/calculation/line.ts';
import { csvOfLines } from '../../payroll/lifecycle/csv.ts';
import { linesOfRun } from '../../payroll/lifecycle/line-pages.ts';
import { type ShownLine, shownLines } from '../../payroll/lifecycle/line-view.ts';
import { viewRun } from '../../payroll/lifecycle/results.ts';
import {
  type PayrollRun,
  type PayrollRunPreview,
  type PayrollRunSummary,
  runCursor,
  viewRunSummary,
  viewStoredRun,
} from '../../payroll/lifecycle/run-view.ts';
import { Run } from '../../payroll/records/body.ts';
import { findRun, listRuns, type StoredRun } from '../../payroll/records/runs.ts';
import type { Sum, Totals } from '../../payroll/records/totals.ts';
import { printableLines } from '../../telemetry/printable.ts';
import { assertKnownEmployer, employerId } from '../arguments.ts';
import { type Command, type DatabaseContext, type PageOptions, withDatabase } from '../command.ts';
import { failed, unknownId, wrongUsage } from '../failure.ts';
import {
  type Column,
  type Output,
  printable,
  printPage,
  printPairs,
  printResult,
  printTable,
  WIDTH,
  wrapped,
} from '../output.ts';

export function addShowCommands(run: Command): void {
  run
    .subcommand('list', 'List payroll runs, latest pay date first.')
    .records('none')
    .examples('run list', 'run list --employer maple-bakery --state finalized')
    .option('--employer <id>', 'Only this employer', employerId)
    .choice('--state <state>', 'Only runs in this state', ['open', 'finalized', 'voided'])
    .page()
    .doesOnDatabase(async ({ db, out }, options: ListOptions) => {
      // Nothing is computed, so open runs have no totals here.
      const { employer, state, limit, cursor } = options;
      await assertKnownEmployer(db, employer);
      const after = runCursor.decode(cursor);
      const { runs, next } = await listRuns(db, { employerId: employer, state }, { after, limit });
      const rows = runs.map(viewRunSummary);
      printPage(out, runCursor.page(rows, next), { columns: COLUMNS, rows, none: 'No matching runs.' });
    });
  run
    .subcommand('show', 'Show a run: its options, state, totals and ETag.')
    .records('none')
    .examples('run show mb-2026-07', 'run show mb-2026-07 --json')
    .argument('<run-id>', 'The id of the run; an open run is computed now')
    .table()
    .doesOnDatabase(async (context, runId: string) => {
      await printStoredRun(context, await storedRun(context.db, runId));
    });
  run
    .subcommand('lines', 'Print the amounts to deduct from each employee, with explanations.')
    .records('none')
    .examples('run lines mb-2026-07 --employee maple-bakery-001', 'run lines mb-2026-07 --csv > lines.csv')
    .argument('<run-id>', 'The id of the run; an open run is computed now')
    .option('--employee <id>', 'Only this employee')
    .option('--csv', 'Print CSV with a header')
    .option('--json', 'Print one JSON object per line')
    .does(async (context, runId: string, { employee, csv }: LinesOptions) => {
      // Prints the lines of a run while they are computed, so memory stays flat.
      const { out, stopped } = context;
      if (csv && out.asJson) throw wrongUsage('use either --csv or --json');
      await withDatabase(context, async (db) => {
        const stored = await storedRun(db, runId);
        const signal = stopped();
        const { pages } = await linesOfRun(db, stored, { employeeId: employee });
        if (csv) {
          for await (const text of csvOfLines(stored, linesIn(pages)))
            await write(out, csvFor(out, text), signal);
          return;
        }
        let any = false;
        for await (const lines of linesIn(
          shownLines(db, stored, pages, { unapplied: 'amounts', viewer: null }),
        )) {
          any ||= lines.length > 0;
          if (out.asJson) await write(out, lines.map(jsonLine).join(''), signal);
          else printLines(out, lines);
          await write(out, '', signal);
        }
        if (!any && !out.asJson) out.note('No lines.');
      });
    });
}

/** Returns a stored run. Throws if there is none. */
export async function storedRun(db: Db, runId: string): Promise<StoredRun> {
  const stored = await findRun(db, runId);
  if (stored === null) throw unknownId('run', runId, 'run list');
  return stored;
}

export async function printStoredRun({ db, out }: DatabaseContext, stored: StoredRun): Promise<void> {
  const shown = await viewStoredRun(db, await viewRun(db, stored), stored);
  printResult(out, shown, () => printRun(out, shown));
}

type ListOptions = PageOptions & { employer?: string; state?: RunState };

const COLUMNS: readonly Column<PayrollRunSummary>[] = [
  ['pay date', (run) => run.pay_date],
  ['run', (run) => run.id],
  ['employer', (run) => run.employer_id],
  ['kind', (run) => run.kind, 3],
  ['frequency', (run) => run.pay_frequency, 4],
  ['pay group', (run) => run.pay_group, 2],
  ['state', (run) => run.state],
  ['lines', (run) => run.totals?.lines, 1],
  ['employees pay', ({ totals }) => totals && dollars(totals.member_amount)],
];

type LinesOptions = { employee?: string; csv?: true };

async function* linesIn<L>(pages: AsyncIterable<{ lines: L[] }[]>): AsyncGenerator<L[]> {
  for await (const page of pages) yield page.flatMap((employee) => employee.lines);
}

function jsonLine(line: ShownLine): string {
  return printableLines(`${JSON.stringify(line)}\n`);
}

/** Files and programs receive the exact CSV, a terminal receives it without control characters. */
function csvFor({ stdout }: Output, records: Buffer): string | Buffer {
  return stdout.isTTY ? printableLines(records.toString().replaceAll('\r\n', '\n')) : records;
}

/** Writes a part and waits for a slow reader. Throws if the command was stopped or the reader is gone. */
async function write({ stdout }: Output, text: string | Buffer, signal: AbortSignal): Promise<void> {
  const isTaken = stdout.write(text);
  if (!isTaken && !signal.aborted) await once(stdout, 'drain', { signal }).catch(() => {});
  if (signal.aborted) throw failed('stopped before the end: the printed lines are incomplete');
}

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
    }),
    ...(run.accept_reason !== null && {
      'accepted checks': run.accepted_checks.join(', '),
      'reason to accept': run.accept_reason,
      'approved by': run.approved_by?.name ?? null,
      'accepted by': run.accepted_by?.name ?? null,
    }),
    ...(run.taken_reports.length > 0 && { 'taken reports': run.taken_reports.length }),
    ...(run.voided_at !== null && {
      voided: run.voided_at,
      'voided by': run.voided_by?.name ?? null,
      'reason to void': run.void_reason,
    }),
  };
}

type Pair = readonly [name: string, value: string | number | null];
type AnyRun = PayrollRun | PayrollRunPreview;

/** Fields that are not shown as their name and their value. Null: another field shows them. */
const WORDED: Partial<Record<keyof Run, (run: AnyRun) => Pair | null>> = {
  employer_id: (run) => ['employer', run.employer_id],
  period_start: (run) => ['period', `${run.period_start} to ${run.period_end}`],
  period_end: () => null,
  pay_dates: (run) => ['pay dates of the year', payDatesOf(run)],
  scheme: (run) => ['scheme', `${run.scheme}, remainder ${run.remainder}`],
  remainder: () => null,
  employee_ids: (run) => ['only employees', countOf(run.employee_ids)],
  deductions: (run) => ['only deductions', countOf(run.deductions)],
  items: (run) => ['only items', countOf(run.items)],
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
  return { ...Object.fromEntries(pairs), 'ledger position': run.position, rules: run.rules_version };
}

function payDatesOf({ pay_dates_used, calendar_assumed }: AnyRun): string {
  if (pay_dates_used === null) return 'not needed';
  return `${pay_dates_used.length}${calendar_assumed ? ', assumed from the pay date' : ''}`;
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
    printTable(out, comparedColumns('employees pay'), [
      ...by_line_of_coverage.map((row) => ({ ...row, name: row.line_of_coverage })),
      { ...totals, name: 'total' },
    ]);
    if (largest_movers.length > 0) {
      out.print('');
      const movers = largest_movers.map((mover) => ({ ...mover, name: mover.employee_id }));
      printTable(out, comparedColumns('largest changes'), movers);
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
  ['not in the run', ({ employee_id }) => employee_id],
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

function comparedColumns(head: string): readonly Column<Compared & { name: string }>[] {
  return [
    [head, ({ name }) => name],
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

/** The longest line of coverage has 31 characters. An amount above `$9,999.99` widens its row. */
const COVERAGE_WIDTH = 31;
const LINE_AMOUNT_WIDTH = 9;

/**
 * Prints lines below the id of their employee. Widths are fixed, because pages are printed before the next one is
 * known.
 */
export function printLines(out: Output, lines: readonly ShownLine[]): void {
  for (const [index, line] of lines.entries()) {
    if (line.employee_id !== lines[index - 1]?.employee_id) {
      out.print(out.color('bold', printable(line.employee_id)));
    }
    printLine(out, line);
  }
}

function printLine(out: Output, line: ShownLine): void {
  const amounts = [line.member_amount, line.employer_amount].map((amount) =>
    dollars(amount).padStart(LINE_AMOUNT_WIDTH),
  );
  const details = [
    line.taxability,
    line.kind === 'regular' ? '' : `${line.kind} of ${line.adjustment_for}`,
    changeOf(line),
    amountChangeOf(line),
    line.payroll_code === null ? '' : `code ${line.payroll_code}`,
  ].filter((text) => text !== '');
  const start = `  ${[line.line_of_coverage.padEnd(COVERAGE_WIDTH), ...amounts].join(' ')}  `;
  const text = printable(details.join(', '));
  const isInline = start.length + text.length <= WIDTH;
  out.print(start + (isInline ? text : line.taxability));
  if (!isInline) printIndented(out, 'bold', details.slice(1).join(', '));
  printIndented(out, 'yellow', line.flags.join(', '));
  printIndented(out, 'yellow', line.unapplied?.message ?? '');
  for (const text of sentencesOf(line)) printIndented(out, 'dim', text);
}

function printIndented(out: Output, color: Parameters<Output['color']>[0], text: string): void {
  if (text === '') return;
  for (const row of wrapped(printable(text), WIDTH - INDENT.length))
    out.print(INDENT + out.color(color, row));
}

const INDENT = '    ';

/** Returns the explanations of the amounts: the employee's, the employer's, and the difference of an adjustment. */
export function sentencesOf({ explanation }: LineRecord): string[] {
  return explanation.split('; plus ');
}

/** Returns the change of the election against the previous finalized run. */
export function changeOf({ change, previous_amount, member_amount }: LineRecord): string {
  const before = dollars(String(previous_amount));
  if (change === 'changed' && previous_amount !== member_amount) return `changed from ${before}`;
  return change === 'ended' || change === 'replaced' ? `${change}, was ${before}` : (change ?? '');
}

/** Returns why the amounts of a continuing election differ from the previous run, and by how much. */
function amountChangeOf({
  change,
  amount_change,
  member_difference,
  employer_difference,
}: LineRecord): string {
  const isCompared = change === 'same' || change === 'changed' || change === 'replaced';
  if (!isCompared || amount_change === null || amount_change === 'same') return '';
  return `amount change: ${amount_change} (employee ${signed(member_difference)}, employer ${signed(employer_difference)})`;
}

function signed(amount: string | null): string {
  const text = dollars(String(amount));
  return text.startsWith('$') ? `+${text}` : text;
}
