import { once } from 'node:events';
import type { Db } from '../database/tables.ts';
import type { Line } from '../payroll/calculation/line.ts';
import { csvOfLines } from '../payroll/runs/csv.ts';
import { type LinesOfEmployee, linesOfRun } from '../payroll/runs/line-pages.ts';
import { linesOfOne } from '../payroll/runs/lines-of-employee.ts';
import type { StoredRun } from '../payroll/runs/store.ts';
import { printableLines } from '../telemetry/printable.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import type { Output } from './output.ts';
import { storedRun } from './run-find.ts';
import { printLines } from './run-line.ts';

type Options = { employee?: string; csv?: true; json?: true };

/** The lines of a run, written while they are computed: memory stays flat however many there are. */
export function runLines(context: Context, runId: string, options: Options): Promise<number> {
  const { out, stopped } = context;
  const { employee, csv, json } = options;
  if (csv && json) throw new WrongUsage('give either --csv or --json');
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

/** A file or a program gets the exact CSV, a terminal one without control characters. */
function csvFor({ stdout }: Output, records: Buffer): string | Buffer {
  return stdout.isTTY ? printableLines(records.toString().replaceAll('\r\n', '\n')) : records;
}

/** Writes a part and waits for a reader that is slow. Throws when it was stopped, or nobody reads any more. */
async function write({ stdout }: Output, text: string | Buffer, signal: AbortSignal): Promise<void> {
  const isTaken = stdout.write(text);
  if (!isTaken && !signal.aborted) await once(stdout, 'drain', { signal }).catch(() => {});
  if (signal.aborted) throw new CommandFailed('stopped: the lines are not complete');
}
