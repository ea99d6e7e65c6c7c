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
