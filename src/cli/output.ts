/** Results go to stdout, progress and notes to stderr, so a pipe or a file receives only the result. */
import { stripVTControlCharacters, styleText } from 'node:util';
import Table from 'cli-table3';
import type { Environment } from '../environment.ts';
import { counted } from '../errors.ts';
import type { ListPage } from '../formats/cursor.ts';
import { printable, printableLines } from '../telemetry/printable.ts';

export { counted, printable };

export type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

type Color = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

export type Output = {
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** In characters, for tables. */
  readonly width: number;
  /** `--wide`: print tables with all columns. */
  readonly wide: boolean;
  /** `--json`: print the result as JSON. */
  readonly asJson: boolean;
  /** Prints lines of the result. `print` and `note` escape control characters, `printable` also ends of lines. */
  print(text: string): void;
  /** Prints the result as one JSON value, indented only for a terminal. */
  json(value: unknown): void;
  /** Prints lines on stderr. */
  note(text: string): void;
  /** Returns colored text for a terminal, unless NO_COLOR (no-color.org) is set. */
  color(color: Color, text: string): string;
};

/** `readerGone` is called when the reader of the result closed the pipe, as `| head` does. Later output is dropped. */
export function createOutput(
  { stdout, stderr }: Pick<Output, 'stdout' | 'stderr'>,
  env: Environment,
  readerGone: () => void,
): Output {
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
    width: widthOf(stdout, env),
    wide: false,
    asJson: false,
    print,
    json: (value) => print(JSON.stringify(value, null, stdout.isTTY ? 2 : 0)),
    note: (text) => void stderr.write(`${printableLines(text, colors)}\n`),
    color: (color, text) => (colors ? styleText(color, text, { validateStream: false }) : text),
  };
}

/** The width of help and prose, on a terminal or not, and of tables on a terminal of unknown width. */
export const WIDTH = 80;

/** Returns the width of a terminal, which COLUMNS overrides. Other outputs have none. */
function widthOf({ isTTY, columns }: Stream, { COLUMNS = '' }: Environment): number {
  if (isTTY !== true) return Number.POSITIVE_INFINITY;
  const stated = /^\d{1,5}$/.test(COLUMNS) ? Number(COLUMNS) : 0;
  return stated || columns || WIDTH;
}

/** Empty cells are printed as a dash, so columns stay readable. */
type Cell = string | number | null | undefined;

/**
 * A column of a table: its head, the cell of a row, and what happens to it when the table is wider than the terminal.
 * Columns marked `cut`, which hold text and no ids, are shortened to 16 characters first. Then numbered columns are
 * dropped, the greatest number first. Other columns are always shown in full.
 */
export type Column<Row> = readonly [head: string, cell: (row: Row) => Cell, fit?: number | 'cut'];

/** The cell of an employee's id. If the rows have names, a column of names follows the column of ids. */
export const employeeId = ({ employee_id }: { readonly employee_id?: string | null }): Cell => employee_id;

function withNameColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly Column<Row>[] {
  const nameOf = (row: Row) => (row as { readonly name?: string | null } | null)?.name;
  const areNamed = rows.some((row) => nameOf(row) !== undefined);
  return columns.flatMap((column) =>
    areNamed && column[1] === employeeId ? [column, ['name', nameOf, 'cut'] as const] : [column],
  );
}

/** Without lines a table is easier to read in a log and to cut with other tools. */
const NO_LINES = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ].map((name) => [name, '']),
);
const MONEY = /^(-|[+-]?\$[\d,.]+)$/;
const GAP = 2;
const CUT_LEAST = 16;

/**
 * Prints a table in full with `--wide` and if the output is no terminal, or else as wide as the terminal, with a note of
 * what is left out. Columns of money are right-aligned.
 */
export function printTable<Row>(out: Output, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const all = withNameColumns(columns, rows).map(([head, cell, fit]) => {
    const cells = rows.map((row) => textOf(cell(row)));
    const isMoney = cells.some((text) => text.includes('$')) && cells.every((text) => MONEY.test(text));
    const width = cells.reduce((most, text) => Math.max(most, [...text].length), [...head].length);
    return { head, fit, cells, full: width, width, align: isMoney ? 'right' : 'left' } as const;
  });
  const shown = out.wide ? all : fitting(all, out.width);
  const heads = shown.map(({ head, width }) => out.color('bold', shortened(head, width)));
  const body = rows.map((_, row) => shown.map(({ cells, width }) => shortened(cells[row] as string, width)));
  const aligns = shown.map(({ align }) => align);
  out.print(lay([heads, ...body], aligns));
  const named = (what: string, some: readonly { head: string }[]) =>
    some.length === 0 ? [] : [`${what}: ${some.map(({ head }) => head).join(', ')}.`];
  const notes = [
    ...named(
      'Not shown',
      all.filter(({ cells }) => shown.every((one) => one.cells !== cells)),
    ),
    ...named(
      'Shortened',
      shown.filter(({ full, width }) => width < full),
    ),
  ];
  if (notes.length > 0) out.note(`${notes.join(' ')} Add --wide to see all columns in full.`);
}

type Fit = { fit: number | 'cut' | undefined; width: number };

/** Returns the columns that are shown within `most` characters, with their widths. */
function fitting<C extends Fit>(columns: readonly C[], most: number): C[] {
  const needed = ({ fit, width }: Fit): number => (fit === 'cut' ? Math.min(width, CUT_LEAST) : width);
  const sum = (widths: readonly number[]): number =>
    widths.reduce((total, width) => total + width, GAP * (widths.length - 1));
  let kept = [...columns];
  while (sum(kept.map(needed)) > most) {
    const next = Math.max(0, ...kept.map(({ fit }) => (typeof fit === 'number' ? fit : 0)));
    if (next === 0) break;
    kept = kept.filter(({ fit }) => fit !== next);
  }
  kept = kept.map((column) => ({ ...column }));
  const excess = (): number => sum(kept.map(({ width }) => width)) - most;
  while (excess() > 0) {
    const cuttable = kept.filter(({ fit, width }) => fit === 'cut' && width > CUT_LEAST);
    const [widest] = cuttable.sort((one, other) => other.width - one.width);
    if (widest === undefined) break;
    widest.width -= 1;
  }
  return kept;
}

export function printPairs(out: Output, pairs: Readonly<Record<string, Cell>>): void {
  const indent = Math.max(...Object.keys(pairs).map((name) => name.length)) + GAP;
  const rows = Object.entries(pairs).map(([name, value]) => [
    out.color('bold', name),
    wrapped(textOf(value), WIDTH - indent).join('\n'),
  ]);
  out.print(lay(rows));
}

/** Prints text after `start`, at most 80 columns wide. Further lines are indented below it. */
export function printWrapped(out: Output, start: string, text: string): void {
  const indent = stripVTControlCharacters(start).length;
  out.print(start + wrapped(text, WIDTH - indent).join(`\n${' '.repeat(indent)}`));
}

/** Breaks text between words into lines of at most `width` characters, unless a word or a quoted command is longer. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of unquotedWords(text)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Splits text at spaces, but not at those between quotation marks. */
function unquotedWords(text: string): string[] {
  const words: string[] = [];
  let isQuoted = false;
  for (const piece of text.split(' ')) {
    words.push(isQuoted ? `${words.pop()} ${piece}` : piece);
    const marks = piece.split('"').length - 1;
    if (marks % 2 === 1) isQuoted = !isQuoted;
  }
  return words;
}

function shortened(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  const kept = characters.slice(0, width - 1).join('');
  return `${kept.trimEnd()}…`;
}

function lay(rows: string[][], colAligns: ('left' | 'right')[] = []): string {
  const style = { 'padding-left': 0, 'padding-right': GAP, head: [], border: [] };
  const table = new Table({ chars: NO_LINES, style, colAligns });
  for (const row of rows) table.push(row);
  return table.toString().replace(/(?<! ) +$/gm, '');
}

/** Times are shown to the second. */
function textOf(value: Cell): string {
  if (value === null || value === undefined || value === '') return '-';
  return printable(String(value)).replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$/, '$1Z');
}

/** Prints the result as JSON with `--json`, or else the line for people, or whatever the function prints for them. */
export function printResult(out: Output, result: unknown, forPeople: string | (() => void)): void {
  if (out.asJson) out.json(result);
  else if (typeof forPeople === 'string') out.print(printable(forPeople));
  else forPeople();
}

/** The rows of a list, and the note that is printed if there are none. */
type List<Row> = { columns: readonly Column<Row>[]; rows: readonly Row[]; none: string };

export function printList<Row>(out: Output, { columns, rows, none }: List<Row>): void {
  if (rows.length > 0) printTable(out, columns, rows);
  else out.note(none);
}

/** Prints a page of a list, and how to continue after it. */
export function printPage<Row>(out: Output, page: ListPage<unknown>, list: List<Row>): void {
  printResult(out, page, () => {
    printList(out, list);
    if (page.has_more) out.note(`There are more. Continue with --cursor ${page.next_cursor}`);
  });
}

/** Prints the first lines of a result, and how many of `total` are left. */
export function printFirst(out: Output, lines: readonly string[], total: number): void {
  for (const line of lines) out.print(printable(line));
  if (total > lines.length) out.print(`… and ${total - lines.length} more`);
}

/** Returns whole megabytes for people, at least one. */
export function megabytes(bytes: number): number {
  return Math.max(1, Math.round(bytes / 1_000_000));
}

/** A progress bar: sets how much of the total is done, or adds to it. */
type Progress = { set(done: number): void; add(more: number): void };

/** Shows a progress bar on stderr, if it is a terminal, during `work`. Without `total` it only counts. */
export async function withProgress<R>(
  { stderr }: Output,
  what: string,
  total: number | null,
  work: (progress: Progress) => Promise<R>,
): Promise<R> {
  if (stderr.isTTY !== true) return work({ set: () => {}, add: () => {} });
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar({
    stream: stderr,
    format: total === null ? `${what}: {value}` : `${what} {bar} {value}/{total}`,
    barCompleteChar: '#',
    barIncompleteChar: '.',
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(total ?? 0, 0);
  try {
    return await work({ set: (done) => bar.update(done), add: (more) => bar.increment(more) });
  } finally {
    bar.stop();
  }
}
