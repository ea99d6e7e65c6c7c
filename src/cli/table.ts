import Table from 'cli-table3';
import { type Output, printable } from './output.ts';

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
  out.print(lay([head.map((name) => out.colour('bold', name)), ...rows.map((row) => row.map(textOf))]));
}

/** Prints names and values, one pair a line. */
export function printPairs(out: Output, pairs: Readonly<Record<string, Cell>>): void {
  out.print(lay(Object.entries(pairs).map(([name, value]) => [out.colour('bold', name), textOf(value)])));
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
