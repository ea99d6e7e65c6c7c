/** Results go to stdout, progress and notes to stderr, so a pipe or a file receives only the result. */
import { styleText } from 'node:util';
import Table from 'cli-table3';
import type { Environment } from '../environment.ts';
import { printable, printableLines } from '../telemetry/printable.ts';

export { printable };

/** What a command writes to; a process has its own, tests pass theirs. */
export type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

type Color = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

export type Output = {
  readonly stdout: Stream;
  readonly stderr: Stream;
  /**
   * Lines of the result. Here and in `note` control characters are escaped, whatever they are part of. Text from
   * elsewhere that must stay on one line needs `printable`.
   */
  print(text: string): void;
  /** The result for a program: one JSON value, indented only for a person. Escapes in it are JSON's own. */
  json(value: unknown): void;
  /** Lines beside the result. */
  note(text: string): void;
  /** Colored where the result is read on a terminal, and NO_COLOR (no-color.org) is not set. */
  color(color: Color, text: string): string;
};

/** `readerGone` is called when the reader of the result has left, as `| head` does; what follows is dropped. */
export function createOutput(
  streams: { stdout: Stream; stderr: Stream },
  env: Environment,
  readerGone: () => void,
): Output {
  const { stdout, stderr } = streams;
  const colors = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  let gone = false;
  stdout.on('error', (error: { code?: string }) => {
    if (error.code !== 'EPIPE') throw error;
    gone = true;
    readerGone();
  });
  stderr.on('error', (error: { code?: string }) => {
    if (error.code !== 'EPIPE') throw error;
  });

  const print = (text: string): void => {
    if (!gone) stdout.write(`${printableLines(text, colors)}\n`);
  };
  return {
    stdout,
    stderr,
    print,
    json: (value) => print(JSON.stringify(value, null, stdout.isTTY ? 2 : 0)),
    note: (text) => void stderr.write(`${printableLines(text, colors)}\n`),
    color: (color, text) => (colors ? styleText(color, text, { validateStream: false }) : text),
  };
}

/** An empty cell is shown as a dash, so that columns stay readable. */
export type Cell = string | number | null | undefined;

/** No lines between cells: easier to read in a log and to cut with other tools. */
const NO_LINES = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ].map((name) => [name, '']),
);

/** Prints rows under a head. */
export function printTable(out: Output, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  out.print(lay([head.map((name) => out.color('bold', name)), ...rows.map((row) => row.map(textOf))]));
}

/** Prints names and values, one pair a line. */
export function printPairs(out: Output, pairs: Readonly<Record<string, Cell>>): void {
  out.print(lay(Object.entries(pairs).map(([name, value]) => [out.color('bold', name), textOf(value)])));
}

/** What a reason may take of a row, so that most rows fit a terminal; the whole of it is where one thing is shown. */
const SHORT_CHARACTERS = 60;

/** The beginning of a text that a list has no room for. */
export function shortened(text: string | null): string | null {
  const characters = [...(text ?? '')];
  if (characters.length <= SHORT_CHARACTERS) return text;
  return `${characters
    .slice(0, SHORT_CHARACTERS - 1)
    .join('')
    .trimEnd()}…`;
}

function lay(rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: NO_LINES,
    style: { 'padding-left': 0, 'padding-right': 2, head: [], border: [] },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString().replace(/ +$/gm, '');
}

function textOf(value: Cell): string {
  return value === null || value === undefined || value === '' ? '-' : printable(String(value));
}

/** Says, beside a page of a list, how to see the next one. */
export function notePage(out: Output, nextCursor: string | null): void {
  if (nextCursor !== null) out.note(`there are more: the same again with --cursor ${nextCursor}`);
}

const MEGABYTE = 1_000_000;

/** Whole megabytes, one at least: for people. */
export function megabytes(bytes: number): number {
  return Math.max(1, Math.round(bytes / MEGABYTE));
}

export type Progress = {
  /** How much is done by now, of the whole. */
  set(done: number): void;
  /** Takes the bar away, so that what is printed next begins on a clean line. */
  end(): void;
};

/**
 * A progress bar on stderr, or nothing where that is no terminal. Without `total` it counts only.
 */
export async function showProgress(out: Output, what: string, total: number | null): Promise<Progress> {
  if (out.stderr.isTTY !== true) return { set: () => {}, end: () => {} };
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar({
    stream: out.stderr,
    format: total === null ? `${what}: {value}` : `${what} {bar} {value}/{total}`,
    barCompleteChar: '#',
    barIncompleteChar: '.',
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(total ?? 0, 0);
  return { set: (done) => bar.update(done), end: () => bar.stop() };
}

/** For work that tells how much it did each time: the bar shows the sum. */
export function adding(progress: Progress): (more: number) => void {
  let done = 0;
  return (more) => {
    done += more;
    progress.set(done);
  };
}
