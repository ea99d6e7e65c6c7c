import type { Problem } from '../contract/check.ts';
import { Employee } from '../contract/employee.ts';
import { unreadable } from '../reading/unreadable.ts';

/**
 * The columns of a census in CSV: the field paths of the interface, such as `employee_id`, `address.line1` and
 * `pay_rate[0].amount`, and our own `pay_group`. docs/census.md lists them.
 */

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

/**
 * Makes employees of the rows under one header, or says what is wrong with the header. Throws `Unreadable` when it
 * has more columns than any census.
 */
export function readHeader(names: readonly string[]): {
  problems: Problem[];
  employeeOf: (cells: readonly string[]) => Record<string, unknown>;
} {
  if (names.length > COLUMNS_MAX) throw unreadable('', `must have at most ${COLUMNS_MAX} columns`);
  const columns = names.map((name) => name.trim());
  const problems: Problem[] = [];
  const paths = columns.map((column, index) => {
    const path = segmentsOf(column);
    if (path === null) problems.push({ path: `column ${index + 1}`, rule: 'is not a column of a census' });
    else if (columns.indexOf(column) < index) problems.push({ path: column, rule: 'is given twice' });
    return path ?? [];
  });
  return { problems, employeeOf: (cells) => employeeOf(paths, cells) };
}

/** An empty cell is an absent field. */
function employeeOf(paths: readonly Segment[][], cells: readonly string[]): Record<string, unknown> {
  const employee: Record<string, unknown> = {};
  paths.forEach((path, index) => {
    const cell = cells[index];
    if (cell !== undefined && cell !== '') put(employee, path, cell);
  });
  return employee;
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
function segmentsOf(column: string): Segment[] | null {
  if (column === 'pay_group') return [column];
  let schema: Schema | undefined = Employee as Schema;
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
