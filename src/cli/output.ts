/** Results go to stdout, progress and notes to stderr, so a pipe or a file receives only the result. */
import { styleText } from 'node:util';
import Table from 'cli-table3';
import type { Environment } from '../environment.ts';
import { printable, printableLines } from '../telemetry/printable.ts';

export { printable };

/** The streams that a command writes to. */
export type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

type Color = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

export type Output = {
  readonly stdout: Stream;
  readonly stderr: Stream;
  /**
   * Prints lines of the result. `print` and `note` escape control characters. Text from elsewhere that must stay
   * on one line needs `printable`.
   */
  print(text: string): void;
  /** Prints the result as one JSON value, indented only for a terminal. */
  json(value: unknown): void;
  /** Prints lines on stderr. */
  note(text: string): void;
  /** Returns colored text for a terminal, unless NO_COLOR (no-color.org) is set. */
  color(color: Color, text: string): string;
};

/**
 * `readerGone` is called when the reader of the result closed the pipe, as `| head` does. Later output is dropped.
 */
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

/** Empty cells are printed as a dash, so columns stay readable. */
export type Cell = string | number | null | undefined;

/** Without lines a table is easier to read in a log and to cut with other tools. */
const NO_LINES = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ].map((name) => [name, '']),
);

export function printTable(out: Output, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  out.print(lay([head.map((name) => out.color('bold', name)), ...rows.map((row) => row.map(textOf))]));
}

/** Prints one name and value per line. */
export function printPairs(out: Output, pairs: Readonly<Record<string, Cell>>): void {
  out.print(lay(Object.entries(pairs).map(([name, value]) => [out.color('bold', name), textOf(value)])));
}

/** The length of a reason in a list, so most rows fit a terminal. */
const SHORT_CHARACTERS = 60;

/** Returns the beginning of a text for a list. */
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

/** Notes how to print the next page of a list. */
export function notePage(out: Output, nextCursor: string | null): void {
  if (nextCursor !== null) out.note(`there are more: the same again with --cursor ${nextCursor}`);
}

/** Returns a count with its noun: `1 deduction`, `2 deductions`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const MEGABYTE = 1_000_000;

/** Returns whole megabytes for people, at least one. */
export function megabytes(bytes: number): number {
  return Math.max(1, Math.round(bytes / MEGABYTE));
}

export type Progress = {
  /** Sets how much of the total is done. */
  set(done: number): void;
  /** Removes the bar, so later output starts on a clean line. */
  end(): void;
};

/** Shows a progress bar on stderr if it is a terminal. Without `total` it only counts. */
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

/** For work that reports increments: the bar shows the sum. */
export function adding(progress: Progress): (more: number) => void {
  let done = 0;
  return (more) => {
    done += more;
    progress.set(done);
  };
}
