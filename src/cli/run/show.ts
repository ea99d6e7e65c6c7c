/** The commands that show runs. */

import { once } from 'node:events';
import { Option } from 'commander';
import type { Db, RunState } from '../../database/tables.ts';
import type { AppError } from '../../errors.ts';
import { dollars } from '../../money.ts';
import type { Line } from '../../payroll/calculation/line.ts';
import { type PayrollRunSummary, runCursor, viewRunSummary, viewStoredRun } from '../../payroll/run-view.ts';
import { csvOfLines } from '../../payroll/runs/csv.ts';
import { type LinesOfEmployee, linesOfRun } from '../../payroll/runs/line-pages.ts';
import { findRun, listRuns, type StoredRun, viewRun } from '../../payroll/runs/store.ts';
import { printableLines } from '../../telemetry/printable.ts';
import type { Command } from '../command.ts';
import { type Context, type DatabaseContext, withDatabase } from '../context.ts';
import { failed, wrongUsage } from '../failure.ts';
import { type Column, type Output, printable, printPage, printResult } from '../output.ts';
import { printLines, printRun } from './print.ts';

export function addShowCommands(run: Command): void {
  run
    .command('list')
    .description('List payroll runs, latest pay date first.')
    .examples('run list', 'run list --employer maple-bakery --state finalized')
    .option('--employer <id>', 'Only this employer')
    .addOption(
      new Option('--state <state>', 'Only runs in this state').choices(['open', 'finalized', 'voided']),
    )
    .page()
    .doesOnDatabase(runList);
  run
    .command('show')
    .description('Show a run: its options, state, totals and ETag.')
    .examples('run show mb-2026-07', 'run show mb-2026-07 --json')
    .argument('<run-id>', 'The id of the run; an open run is computed now')
    .table()
    .doesOnDatabase(runShow);
  run
    .command('lines')
    .description('Print the amounts to deduct from each employee, with explanations.')
    .examples('run lines mb-2026-07 --employee maple-bakery-001', 'run lines mb-2026-07 --csv > lines.csv')
    .argument('<run-id>', 'The id of the run; an open run is computed now')
    .option('--employee <id>', 'Only this employee')
    .option('--csv', 'Print CSV with a header')
    .option('--json', 'Print one JSON object per line')
    .does(runLines);
}

/** Returns a stored run. Throws if there is none. */
export async function storedRun(db: Db, runId: string): Promise<StoredRun> {
  const stored = await findRun(db, runId);
  if (stored === null) throw unknownRun(runId);
  return stored;
}

export function unknownRun(runId: string): AppError {
  return failed(`there is no run ${printable(runId)}: find it with "benefits-sidecar run list"`);
}

type ListOptions = { employer?: string; state?: RunState; limit: number; cursor?: string };

/** Prints runs, the latest pay date first. Nothing is computed, so open runs have no totals here. */
async function runList({ db, out }: DatabaseContext, options: ListOptions): Promise<void> {
  const { employer, state, limit, cursor } = options;
  const after = runCursor.decode(cursor);
  const { runs, next } = await listRuns(db, { employerId: employer, state }, { after, limit });
  const shown = runs.map(viewRunSummary);
  const page = runCursor.page(shown, next);
  printPage(out, page, { columns: COLUMNS, rows: shown, none: 'No matching runs.' });
}

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

async function runShow({ db, out }: DatabaseContext, runId: string): Promise<void> {
  const stored = await storedRun(db, runId);
  const shown = await viewStoredRun(db, await viewRun(db, stored), stored);
  printResult(out, shown, () => printRun(out, shown));
}

type LinesOptions = { employee?: string; csv?: true };

/** Prints the lines of a run while they are computed, so memory stays flat. */
async function runLines(context: Context, runId: string, { employee, csv }: LinesOptions): Promise<void> {
  const { out, stopped } = context;
  if (csv && out.asJson) throw wrongUsage('use either --csv or --json');
  await withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    const signal = stopped();
    const pages = linesIn((await linesOfRun(db, stored, { employeeId: employee })).pages);
    if (csv) {
      for await (const text of csvOfLines(stored, pages)) await write(out, csvFor(out, text), signal);
      return;
    }
    let any = false;
    for await (const lines of pages) {
      any ||= lines.length > 0;
      if (out.asJson) await write(out, lines.map(jsonLine).join(''), signal);
      else printLines(out, lines);
      await write(out, '', signal);
    }
    if (!any && !out.asJson) out.note('No lines.');
  });
}

async function* linesIn(pages: AsyncIterable<LinesOfEmployee[]>): AsyncGenerator<Line[]> {
  for await (const page of pages) yield page.flatMap((employee) => employee.lines);
}

function jsonLine(line: Line): string {
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
