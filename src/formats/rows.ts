/** Rows of a table that payroll sends as a file or a body: CSV, a JSON list, or newline-delimited JSON. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { didYouMean, givenFieldPath, isObject, PROBLEMS_MAX, within } from '../contract/check.ts';
import type { ParsedJson } from '../contract/json.ts';
import { meantAmount, meantChoice } from '../contract/meant.ts';
import { isAppError, type Problem, refused } from '../errors.ts';
import { AMOUNT_RULE, parseAmount } from '../money.ts';
import { slices, unreadableFor } from './bytes.ts';
import { asWritten, type CsvRecord, csvRecords } from './csv.ts';
import { headerProblems, withFormatProblem } from './csv-header.ts';
import { jsonPieces, ndjsonValues } from './json-list.ts';
import { WORKBOOK_TYPE } from './workbook/bounds.ts';

/** A million rows of the widest kind: more than any employer's payroll has. */
export const ROWS_BYTES_MAX = 256 * 1024 * 1024;

export const ROW_TYPES = {
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
} as const;
export type RowFormat = keyof typeof ROW_TYPES;

/** The columns of a table. `list` is the name of its rows in a JSON object and in the paths of problems. */
export type Columns = {
  readonly list: string;
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** The kind of file format that reads a CSV with other columns. Default: none. */
  readonly format?: string;
  /** The optional columns that are true or false. JSON may send them as such. */
  readonly flags?: readonly string[];
};

/**
 * A row and its path for later problems: `lines[0]` is the first. `fields` are by column; empty ones are absent. `line`: where
 * the row begins in a CSV. `format`: the kind of file format that may read this CSV in another way.
 */
export type GivenRow = {
  readonly path: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly line?: number;
  readonly format?: string | undefined;
};
type BrokenRow = { readonly problem: Problem } & Pick<GivenRow, 'line' | 'format'>;
export type RowResult = GivenRow | BrokenRow;
export type Rows = AsyncIterable<RowResult> | Iterable<RowResult>;

/** What makes strict records of a CSV that is not strict: an employer's file format. */
export type CsvReader = { records(content: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord> };

/** Opens a file of rows: a CSV through a reader, if there is one. */
export type OpenRows = (through?: CsvReader | null) => Rows;

export function formatOf(contentType: string): RowFormat | null {
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase();
  // The content shows that it is one.
  if (essence === WORKBOOK_TYPE) return 'csv';
  const formats = Object.keys(ROW_TYPES) as RowFormat[];
  return formats.find((format) => ROW_TYPES[format] === essence) ?? null;
}

/**
 * Reads a table row by row in constant memory. An unreadable row is a problem, and reading continues. The caller checks
 * whether rows fill the required columns. Throws UNREADABLE if nothing more can be read, and what the content throws.
 */
export async function* readRows(
  content: AsyncIterable<Uint8Array>,
  format: RowFormat,
  columns: Columns,
  through: CsvReader | null = null,
): AsyncGenerator<RowResult> {
  const bytes = slices(content, ROWS_BYTES_MAX);
  if (format === 'csv') yield* csvRows(bytes, columns, through);
  else if (format === 'json') yield* jsonRows(bytes, columns);
  else yield* ndjsonRows(bytes, columns);
}

async function* csvRows(
  bytes: AsyncIterable<Uint8Array>,
  columns: Columns,
  through: CsvReader | null,
): AsyncGenerator<RowResult> {
  const { required, optional } = columns;
  const format = through === null ? columns.format : undefined;
  const named = { names: [...required, ...optional], required, what: 'this file', format };
  let header: readonly string[] | null = null;
  let rows = 0;
  const here = (): string => (header === null ? '' : pathOf(columns, rows));
  const records = through?.records(bytes) ?? csvRecords(bytes, here, named);
  for await (const { cells, line, broken, idProblems } of records) {
    if (header === null) {
      header = cells;
      const problems = headerProblems(header, named);
      if (problems.length > 0) throw unreadableFor(problems);
      continue;
    }
    const path = pathOf(columns, rows);
    rows += 1;
    const problem = broken ?? idProblems[0];
    if (problem !== undefined) yield { problem: within(path, problem), line, format };
    else yield { path, fields: fieldsOf(cells, header), line, format };
  }
}

/** An empty cell is an absent field. */
function fieldsOf(cells: readonly string[], header: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [index, name] of header.entries()) {
    const cell = cells[index] as string;
    if (cell !== '') fields[name] = asWritten(cell);
  }
  return fields;
}

async function* jsonRows(bytes: AsyncIterable<Uint8Array>, columns: Columns): AsyncGenerator<RowResult> {
  let rows = 0;
  const shape = { list: columns.list, orBare: true, pathOf: (index: number) => pathOf(columns, index) };
  for await (const pieces of jsonPieces(bytes, shape)) {
    for (const piece of pieces) {
      if (piece.kind === 'element') {
        yield jsonRow(piece.parsed, columns, pathOf(columns, rows));
        rows += 1;
      } else if (piece.kind === 'problem') yield piece;
      else yield { problem: { path: givenFieldPath('', piece.name), rule: 'is not a field of this file' } };
    }
  }
}

async function* ndjsonRows(bytes: AsyncIterable<Uint8Array>, columns: Columns): AsyncGenerator<RowResult> {
  let rows = 0;
  for await (const parsed of ndjsonValues(bytes, () => pathOf(columns, rows))) {
    yield jsonRow(parsed, columns, pathOf(columns, rows));
    rows += 1;
  }
}

function jsonRow(parsed: ParsedJson, { required, optional, flags = [] }: Columns, path: string): RowResult {
  if (!parsed.ok) return { problem: { path, rule: parsed.reason } };
  const { value } = parsed;
  if (!isObject(value)) {
    return { problem: { path, rule: 'must be an object' } };
  }
  const fields: Record<string, string> = {};
  for (const [name, field] of Object.entries(value)) {
    const at = givenFieldPath(path, name);
    if (!required.includes(name) && !optional.includes(name)) {
      return { problem: { path: at, rule: 'is not a field of this file' } };
    }
    if (typeof field === 'boolean' && flags.includes(name)) {
      fields[name] = String(field);
      continue;
    }
    // A JSON number may have lost precision; amounts are texts everywhere.
    if (field !== null && typeof field !== 'string') {
      return { problem: { path: at, rule: 'must be a text in quotes, amounts too' } };
    }
    if (field !== null && field !== '') fields[name] = field;
  }
  return { path, fields };
}

/** Returns the problem of an amount that `parseAmount` refuses. */
export function amountProblem(path: string, text: string): Problem {
  const meant = meantAmount(text);
  return {
    path,
    rule: AMOUNT_RULE,
    ...didYouMean(meant !== null && parseAmount(meant) !== null ? meant : null),
  };
}

/** Returns the problem of a text that is none of `values`, or null. */
export function choiceProblem(path: string, values: readonly string[], text: string): Problem | null {
  if (values.includes(text)) return null;
  return { path, rule: `must be one of ${values.join(', ')}`, ...didYouMean(meantChoice(values, text)) };
}

function pathOf({ list }: Columns, index: number): string {
  return `${list}[${index}]`;
}

/** The problems of a table. All are counted, and the first `PROBLEMS_MAX` are listed. */
export type Problems = ReturnType<typeof createProblems>;

export function createProblems() {
  const named: Problem[] = [];
  const lines: number[] = [];
  let count = 0;
  let format: string | undefined;
  return {
    /** Notes the kind of file format that may read the file in another way. */
    noteFormat(kind: string | undefined): void {
      format ??= kind;
    },
    /** Notes the line of the file on which a row begins. The problems of the row name it. */
    noteLine(row: number, line: number | undefined): void {
      if (line !== undefined) lines[row] = line;
    },
    add(...problems: readonly Problem[]): void {
      count += problems.length;
      named.push(...problems.slice(0, PROBLEMS_MAX - named.length));
    },
    /** Counts problems of a row that are not listed. */
    addUnlisted(problems: number): void {
      count += problems;
    },
    /** Whether the list is full: further problems are only counted. */
    get isFull() {
      return named.length === PROBLEMS_MAX;
    },
    get isEmpty() {
      return count === 0;
    },
    /** Returns the problems by row, with their lines. */
    summary(): { problem_count: number; problems: Problem[] } {
      const byRow = named
        .toSorted((one, other) => rowOf(one) - rowOf(other))
        .map((problem) => withLines(problem, lines));
      const { problems, count: problem_count } = withFormatProblem(byRow, count, { format });
      return { problem_count, problems };
    },
    /** Throws ROWS_REFUSED if there are problems: a table is refused as a whole. */
    assertNone(): void {
      if (count === 0) return;
      const { problems, problem_count } = this.summary();
      throw refused('ROWS_REFUSED', problems, problem_count);
    },
  };
}

/** Problems are found in a different order than the rows; sort them by row. */
function rowOf({ path }: Problem): number {
  return Number(/\[(\d+)\]/.exec(path)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

/** Names the line on which the row of a problem begins, and the lines of rows that its rule names. `lines`: by row. */
export function withLines({ path, rule, ...hint }: Problem, lines: readonly (number | undefined)[]): Problem {
  const [, list = '', row = ''] = /^(\w+)\[(\d+)\]/.exec(path) ?? [];
  const line = row === '' ? undefined : lines[Number(row)];
  if (line === undefined) return { path, rule, ...hint };
  const named = rule.replaceAll(/\b(\w+)\[(\d+)\](?:\.\w+)*/g, (place, name, index) => {
    const lineOfPlace = name === list ? lines[Number(index)] : undefined;
    return lineOfPlace === undefined ? place : `${place} at line ${lineOfPlace}`;
  });
  return { path, rule: `${named} (line ${line})`, ...hint };
}

export const NO_ROWS = 'must have at least 1 element';

/** Rows per tick of the event loop: a few milliseconds. */
const ROWS_AT_ONCE = 200;

/** Yields the readable rows in lists of at most `count`, and adds the problems of unreadable rows. */
export async function* readableRows<Row extends Pick<GivenRow, 'line' | 'format'> = GivenRow>(
  rows: AsyncIterable<Row | BrokenRow> | Iterable<Row | BrokenRow>,
  { list }: Pick<Columns, 'list'>,
  problems: Problems,
  count: number,
): AsyncGenerator<Row[]> {
  let rowsRead = 0;
  let some: Row[] = [];
  try {
    for await (const row of rows) {
      problems.noteLine(rowsRead, row.line);
      problems.noteFormat(row.format);
      rowsRead += 1;
      if ('problem' in row) problems.add(row.problem);
      else some.push(row);
      // A slice of the file may have thousands of rows.
      if (rowsRead % ROWS_AT_ONCE === 0) await nextTurn();
      if (some.length < count) continue;
      yield some;
      some = [];
    }
    if (rowsRead === 0) problems.add({ path: list, rule: NO_ROWS });
  } catch (error) {
    if (!isAppError(error, 'UNREADABLE')) throw error;
    problems.add(...error.problems);
  }
  if (some.length > 0) yield some;
}
