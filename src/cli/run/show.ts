/** The commands that show runs. */
import { once } from 'node:events';
import { type Command, Option } from 'commander';
import type { Db, RunState } from '../../database/tables.ts';
import { AppError } from '../../errors.ts';
import type { Line } from '../../payroll/calculation/line.ts';
import { runCursor, viewRunSummary, viewStoredRun } from '../../payroll/run-view.ts';
import { csvOfLines } from '../../payroll/runs/csv.ts';
import { type LinesOfEmployee, linesOfOne, linesOfRun } from '../../payroll/runs/line-pages.ts';
import { findRun, listRuns, type StoredRun, viewRun } from '../../payroll/runs/store.ts';
import { printableLines } from '../../telemetry/printable.ts';
import { cursorOption, jsonOption, limitOption } from '../arguments.ts';
import { type Act, type Context, withDatabase } from '../context.ts';
import { notePage, type Output, printable, printTable } from '../output.ts';
import { printLines, printRun } from './print.ts';

export function addShowCommands(run: Command, act: Act): void {
  run
    .command('list')
    .description('the latest pay date first')
    .option('--employer <id>', 'of this employer')
    .addOption(new Option('--state <state>', 'in this state').choices(['open', 'finalized', 'voided']))
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(jsonOption())
    .action(act(runList));
  run
    .command('show')
    .description('its options, state, totals and ETag; an open run is recomputed')
    .argument('<run-id>')
    .addOption(jsonOption())
    .action(act(runShow));
  run
    .command('lines')
    .description('what to deduct from whom, and how each amount came about')
    .argument('<run-id>')
    .option('--employee <id>', 'of this employee')
    .option('--csv', 'print CSV with a header')
    .option('--json', 'print a JSON object a line, for programs')
    .action(act(runLines));
}

/** Returns a stored run. Throws if there is none. */
export async function storedRun(db: Db, runId: string): Promise<StoredRun> {
  const stored = await findRun(db, runId);
  if (stored === null) throw unknownRun(runId);
  return stored;
}

export function unknownRun(runId: string): AppError {
  return new AppError(
    'COMMAND_FAILED',
    `there is no run ${printable(runId)}: "benefits-sidecar run list" shows those there are`,
  );
}

type ListOptions = { employer?: string; state?: RunState; limit: number; cursor?: string; json?: true };

/** Prints runs, the latest pay date first. Nothing is computed, so open runs have no totals here. */
function runList(context: Context, options: ListOptions): Promise<number> {
  const { out } = context;
  const { employer, state, limit, cursor, json } = options;
  const after = runCursor.decode(cursor);
  return withDatabase(context, async (db) => {
    const { runs, next } = await listRuns(db, { employerId: employer, state }, { after, limit });
    const shown = runs.map(viewRunSummary);
    const page = runCursor.page(shown, next);
    if (json) out.json(page);
    else if (shown.length === 0) out.note('no such runs');
    else {
      printTable(
        out,
        [
          'pay date',
          'run',
          'employer',
          'kind',
          'pay frequency',
          'pay group',
          'state',
          'lines',
          'employees pay',
        ],
        shown.map((run) => [
          run.pay_date,
          run.id,
          run.employer_id,
          run.kind,
          run.pay_frequency,
          run.pay_group,
          run.state,
          run.totals?.lines,
          run.totals?.member_amount,
        ]),
      );
      notePage(out, page.next_cursor);
    }
    return 0;
  });
}

function runShow(context: Context, runId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    const shown = await viewStoredRun(db, await viewRun(db, stored), stored);
    if (json) out.json(shown);
    else printRun(out, shown);
    return 0;
  });
}

type LinesOptions = { employee?: string; csv?: true; json?: true };

/** Prints the lines of a run while they are computed, so memory stays flat. */
function runLines(context: Context, runId: string, options: LinesOptions): Promise<number> {
  const { out, stopped } = context;
  const { employee, csv, json } = options;
  if (csv && json) throw new AppError('WRONG_USAGE', 'give either --csv or --json');
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    const signal = stopped();
    const pages = linesIn(await pagesOf(db, stored, employee));
    if (csv) {
      for await (const text of csvOfLines(stored, pages)) await write(out, csvFor(out, text), signal);
    } else {
      let any = false;
      for await (const lines of pages) {
        any ||= lines.length > 0;
        if (json) await write(out, lines.map(jsonLine).join(''), signal);
        else printLines(out, lines);
        await write(out, '', signal);
      }
      if (!any && !json) out.note('no lines');
    }
    return 0;
  });
}

async function pagesOf(db: Db, stored: StoredRun, employee: string | undefined) {
  const list =
    employee === undefined
      ? await linesOfRun(db, stored, null)
      : await linesOfOne(db, stored, employee, null);
  return list.pages;
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
  if (signal.aborted) throw new AppError('COMMAND_FAILED', 'stopped: the lines are not complete');
}
