/** The commands that show runs. */
import { once } from 'node:events';
import type { Db, RunState } from '../../database/tables.ts';
import { dollars } from '../../money.ts';
import { csvOfLines } from '../../payroll/lifecycle/csv.ts';
import { linesOfRun } from '../../payroll/lifecycle/line-pages.ts';
import { type ShownLine, shownLines } from '../../payroll/lifecycle/line-view.ts';
import { viewRun } from '../../payroll/lifecycle/results.ts';
import {
  type PayrollRunSummary,
  runCursor,
  viewRunSummary,
  viewStoredRun,
} from '../../payroll/lifecycle/run-view.ts';
import { findRun, listRuns, type StoredRun } from '../../payroll/records/runs.ts';
import { printableLines } from '../../telemetry/printable.ts';
import { assertKnownEmployer, employerId } from '../arguments.ts';
import { type Command, type DatabaseContext, type PageOptions, withDatabase } from '../command.ts';
import { failed, unknownId, wrongUsage } from '../failure.ts';
import { type Column, type Output, printPage, printResult } from '../output.ts';
import { printLines } from './print-lines.ts';
import { printRun } from './print-run.ts';

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
