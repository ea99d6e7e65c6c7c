import type { TSchema } from 'typebox';
import type { Problem } from '../contract/check.ts';
import { unreadable } from './unreadable.ts';

/**
 * Columns of a CSV whose names are field paths of the interface, such as `employee_id`, `address.line1` and
 * `pay_rate[0].amount`.
 */

/** What the rows of a table are. `more`: names of columns beside the schema's; `what` it is, for people: "a census". */
export type RowKind = { readonly schema: TSchema; readonly more: readonly string[]; readonly what: string };

/** Raises of one employee that one row may hold: enough for a history, and a bound on the objects made of a row. */
const ARRAY_COLUMNS_MAX = 50;

/** There are fewer than 200 columns to have; each costs time for every row. */
const COLUMNS_MAX = 1_000;

type Segment = string | number;
type Schema = {
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
};

export type Header = {
  problems: Problem[];
  /** The object that a row makes. An empty cell is an absent field. */
  rowOf: (cells: readonly string[]) => Record<string, unknown>;
};

/**
 * Makes objects of the rows under one header, or says what is wrong with the header. Throws `Unreadable` when it has
 * more columns than any such table.
 */
export function readHeader(names: readonly string[], kind: RowKind): Header {
  if (names.length > COLUMNS_MAX) throw unreadable('', `must have at most ${COLUMNS_MAX} columns`);
  const columns = names.map((name) => name.trim());
  const problems: Problem[] = [];
  const paths = columns.map((column, index) => {
    const path = segmentsOf(column, kind);
    if (path === null)
      problems.push({ path: `column ${index + 1}`, rule: `is not a column of ${kind.what}` });
    else if (columns.indexOf(column) < index) problems.push({ path: column, rule: 'is given twice' });
    return path ?? [];
  });
  return { problems, rowOf: (cells) => rowOf(paths, cells) };
}

function rowOf(paths: readonly Segment[][], cells: readonly string[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  paths.forEach((path, index) => {
    const cell = cells[index];
    if (cell !== undefined && cell !== '') put(row, path, cell);
  });
  return row;
}

/** Elements of an array that no cell of the row filled before a filled one are there, and empty. */
function put(root: Record<string, unknown>, path: readonly Segment[], cell: string): void {
  let at = root as Record<Segment, unknown>;
  path.forEach((segment, depth) => {
    const next = path[depth + 1];
    if (Array.isArray(at)) while (at.length < Number(segment)) at.push({});
    if (next === undefined) at[segment] = cell;
    else at[segment] ??= typeof next === 'number' ? [] : {};
    at = at[segment] as Record<Segment, unknown>;
  });
}

/** The segments of a column's path, or null when the interface has no text field there. */
function segmentsOf(column: string, { schema: root, more }: RowKind): Segment[] | null {
  if (more.includes(column)) return [column];
  let schema: Schema | undefined = root as Schema;
  const segments: Segment[] = [];
  for (const [, name, index] of column.matchAll(/([a-z0-9_]+)|\[(\d{1,2})\]/g)) {
    if (name !== undefined) schema = schema.properties?.[name];
    else schema = Number(index) < ARRAY_COLUMNS_MAX ? schema.items : undefined;
    if (schema === undefined) return null;
    segments.push(name ?? Number(index));
  }
  return schema.type === 'string' && written(segments) === column ? segments : null;
}

function written(segments: readonly Segment[]): string {
  return segments.reduce<string>(
    (text, segment) =>
      typeof segment === 'number' ? `${text}[${segment}]` : text === '' ? segment : `${text}.${segment}`,
    '',
  );
}
