/** Rows of a table that payroll sends as a file or a body: in CSV, as a JSON list, or as newline-delimited JSON. */
import { givenFieldPath, PROBLEMS_MAX, type Problem } from '../contract/check.ts';
import type { ParsedJson } from '../contract/json.ts';
import { slices, Unreadable } from './bytes.ts';
import { asWritten, type CsvRecord, csvRecords } from './csv.ts';
import { jsonPieces, ndjsonValues } from './json-list.ts';

/** One table. A million rows of the widest kind; more than any employer's payroll has. */
export const ROWS_BYTES_MAX = 256 * 1024 * 1024;

export const ROW_TYPES = {
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
} as const;
export type RowFormat = keyof typeof ROW_TYPES;

/** What a table has. `list` is what its rows are called, in a JSON object that holds them and in the paths of problems. */
export type Columns = {
  readonly list: string;
  readonly required: readonly string[];
  readonly optional: readonly string[];
};

/** The fields of a row by the names of their columns, all of them texts; what is empty is absent. */
export type Fields = Readonly<Record<string, string>>;

/** A row, and its path for what is found to be wrong with it later: `lines[0]` is the first one. */
export type GivenRow = { readonly path: string; readonly fields: Fields };
/** One row, or why it can't be read. */
export type Row = GivenRow | { readonly problem: Problem };
/** A table, as it is read, or made by hand. */
export type Rows = AsyncIterable<Row> | Iterable<Row>;

/** The format that a content type names, or null for any other. */
export function formatOf(contentType: string): RowFormat | null {
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase();
  const formats = Object.keys(ROW_TYPES) as RowFormat[];
  return formats.find((format) => ROW_TYPES[format] === essence) ?? null;
}

/**
 * Reads a table row by row, in flat memory. A row that can't be read is a problem of its own, and the rows behind it
 * are read. A required column must be there; whether a row fills it, the caller checks. Throws `Unreadable` for what
 * leaves nothing more to read, such as a wrong header, and what the content throws.
 */
export async function* readRows(
  content: AsyncIterable<Uint8Array>,
  format: RowFormat,
  columns: Columns,
): AsyncGenerator<Row> {
  const bytes = slices(content, ROWS_BYTES_MAX);
  if (format === 'csv') yield* csvRows(bytes, columns);
  else if (format === 'json') yield* jsonRows(bytes, columns);
  else yield* ndjsonRows(bytes, columns);
}

async function* csvRows(bytes: AsyncIterable<Uint8Array>, columns: Columns): AsyncGenerator<Row> {
  let header: readonly string[] | null = null;
  let rows = 0;
  const here = (): string => (header === null ? '' : pathOf(columns, rows));
  for await (const record of csvRecords(bytes, here)) {
    if (header === null) {
      header = record.cells.map((cell) => cell.trim());
      const problems = headerProblems(header, columns);
      if (problems.length > 0) throw new Unreadable(problems);
    } else {
      yield csvRow(record, header, pathOf(columns, rows));
      rows += 1;
    }
  }
}

/** Of a file without a header the first row stands in its place: only names of a real one are repeated. */
function headerProblems(header: readonly string[], { required, optional }: Columns): Problem[] {
  const known = new Set([...required, ...optional]);
  const isHeader = header.some((name) => known.has(name));
  const problems = header.flatMap((name, index): Problem[] => {
    if (known.has(name)) {
      return header.indexOf(name) < index ? [{ path: name, rule: 'is a column that is given twice' }] : [];
    }
    const isRepeated = isHeader && name !== '' && givenFieldPath('', name) === name;
    const path = `column ${index + 1}${isRepeated ? `, ${name}` : ''}`;
    return [{ path, rule: 'is not a column of this table' }];
  });
  const missing = required.filter((name) => !header.includes(name));
  return [...problems, ...missing.map((path) => ({ path, rule: 'is a column that is missing' }))];
}

function csvRow({ cells, line }: CsvRecord, header: readonly string[], path: string): Row {
  if (cells.length !== header.length) {
    const rule = `must have as many cells as the header, ${header.length}: it has ${cells.length}, at line ${line}`;
    return { problem: { path, rule } };
  }
  const fields: Record<string, string> = {};
  for (const [index, name] of header.entries()) {
    const cell = cells[index] as string;
    if (cell.includes('\0')) {
      return { problem: { path: `${path}.${name}`, rule: `has a NUL character, at line ${line}` } };
    }
    if (cell !== '') fields[name] = asWritten(cell);
  }
  return { path, fields };
}

async function* jsonRows(bytes: AsyncIterable<Uint8Array>, columns: Columns): AsyncGenerator<Row> {
  let rows = 0;
  const shape = { list: columns.list, orBare: true, pathOf: (index: number) => pathOf(columns, index) };
  for await (const pieces of jsonPieces(bytes, shape)) {
    for (const piece of pieces) {
      if (piece.kind === 'element') {
        yield jsonRow(piece.parsed, columns, pathOf(columns, rows));
        rows += 1;
      } else if (piece.kind === 'problem') yield piece;
      else {
        yield { problem: { path: givenFieldPath('', piece.name), rule: 'is not a field of this table' } };
      }
    }
  }
}

async function* ndjsonRows(bytes: AsyncIterable<Uint8Array>, columns: Columns): AsyncGenerator<Row> {
  let rows = 0;
  for await (const parsed of ndjsonValues(bytes, () => pathOf(columns, rows))) {
    yield jsonRow(parsed, columns, pathOf(columns, rows));
    rows += 1;
  }
}

function jsonRow(parsed: ParsedJson, { required, optional }: Columns, path: string): Row {
  if (!parsed.ok) return { problem: { path, rule: parsed.reason } };
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: { path, rule: 'must be an object' } };
  }
  const fields: Record<string, string> = {};
  for (const [name, given] of Object.entries(value)) {
    const at = givenFieldPath(path, name);
    if (!required.includes(name) && !optional.includes(name)) {
      return { problem: { path: at, rule: 'is not a field of this table' } };
    }
    // A number would have been through a float: an amount is a text here as everywhere.
    if (given !== null && typeof given !== 'string') {
      return { problem: { path: at, rule: 'must be a text in quotes, amounts too' } };
    }
    if (given !== null && given !== '') fields[name] = given;
  }
  return { path, fields };
}

function pathOf({ list }: Columns, index: number): string {
  return `${list}[${index}]`;
}

/** A table is refused as a whole: all that is wrong with it is counted, and the first `PROBLEMS_MAX` are named. */
export type RowsRefused = { ok: false; problems: Problem[]; problem_count: number };

/** What is wrong with a table, gathered while it is read. */
export type Problems = {
  add(...problems: readonly Problem[]): void;
  readonly isEmpty: boolean;
  refused(): RowsRefused;
};

export function createProblems(): Problems {
  const named: Problem[] = [];
  let count = 0;
  return {
    add(...problems) {
      count += problems.length;
      named.push(...problems.slice(0, PROBLEMS_MAX - named.length));
    },
    get isEmpty() {
      return count === 0;
    },
    refused: () => ({
      ok: false,
      problems: named.toSorted((one, other) => rowOf(one) - rowOf(other)),
      problem_count: count,
    }),
  };
}

/** Rows are looked at some hundred at a time, and some things are found later than others; people read from the top. */
function rowOf({ path }: Problem): number {
  return Number(/\[(\d+)\]/.exec(path)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

/**
 * The rows that can be read, in lists of at most `count`; what is wrong with the others, and what ends the reading, is
 * added to the problems. Throws what the content throws.
 */
export async function* readableRows(
  rows: Rows,
  { list }: Columns,
  problems: Problems,
  count: number,
): AsyncGenerator<GivenRow[]> {
  let given = 0;
  let some: GivenRow[] = [];
  try {
    for await (const row of rows) {
      given += 1;
      if ('problem' in row) problems.add(row.problem);
      else some.push(row);
      if (some.length < count) continue;
      yield some;
      some = [];
    }
    if (given === 0) problems.add({ path: list, rule: 'must have at least 1 element' });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    problems.add(...error.problems);
  }
  if (some.length > 0) yield some;
}
