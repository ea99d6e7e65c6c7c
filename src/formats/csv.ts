import { pipeline, Readable } from 'node:stream';
import { type CsvError, parse } from 'csv-parse';
import { stringify } from 'csv-stringify/sync';
import type { TSchema } from 'typebox';
import type { Problem } from '../errors.ts';
import { ELEMENT_BYTES_MAX, TOO_LARGE, unreadable, validUtf8, withHead } from './bytes.ts';

/** One record: its cells, and the line of the file on which it ends, counting from 1. */
export type CsvRecord = { readonly cells: string[]; readonly line: number };

/** Yields the records of a CSV (RFC 4180, UTF-8), the header first. Errors have the path of `here`. */
export async function* csvRecords(
  content: AsyncIterable<Uint8Array>,
  here: () => string,
): AsyncGenerator<CsvRecord> {
  const parser = parse({
    relax_column_count: true,
    skip_empty_lines: true,
    // By default cells keep a part of line endings that differ from the header's.
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: ELEMENT_BYTES_MAX,
    info: true,
  });
  // Its errors reach the loop below as errors of the parser.
  pipeline(Readable.from(validUtf8(withinColumns(byCommas(content)))), parser, () => {});
  let isEmpty = true;
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      isEmpty = false;
      yield { cells: record, line: info.lines };
    }
  } catch (error) {
    // The parser's messages quote cells, so only its code and the line are kept.
    const { code, lines } = error as Partial<CsvError> & { lines?: number };
    if (code === 'CSV_MAX_RECORD_SIZE') throw unreadable(here(), TOO_LARGE);
    if (typeof code !== 'string' || lines === undefined) throw error;
    throw unreadable(here(), `is not valid CSV at line ${lines} (${code})`);
  }
  if (isEmpty) throw unreadable('', 'is empty: a CSV begins with a header');
}

/** There are fewer than 200 columns; each costs time for every row. */
const COLUMNS_MAX = 1_000;

const [COMMA, QUOTE, LF, CR] = [0x2c, 0x22, 0x0a, 0x0d];

/** Yields the same bytes. Throws UNREADABLE for a record with too many columns: the parser's bound counts no commas. */
async function* withinColumns(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let commas = 0;
  let isQuoted = false;
  for await (const part of content) {
    for (let at = 0; at < part.length; at += 1) {
      const byte = part[at];
      if (byte === QUOTE) isQuoted = !isQuoted;
      else if (isQuoted) continue;
      else if (byte === COMMA) commas += 1;
      else if (byte === LF || byte === CR) commas = 0;
      if (commas === COLUMNS_MAX) throw unreadable('', `must have at most ${COLUMNS_MAX} columns`);
    }
    yield part;
  }
}

/** Throws UNREADABLE, before any other error, for a header with semicolons, which spreadsheets of many countries write. */
function byCommas(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const isWhole = (head: Buffer) => lineOf(head) !== null || head.length > ELEMENT_BYTES_MAX;
  return withHead(content, isWhole, (head) => {
    const line = lineOf(head) ?? head;
    if (!line.includes(';') || line.includes(',')) return head;
    throw unreadable('', 'has semicolons between its columns: separate them with commas');
  });
}

/** Returns the first line, or null if it has no end yet. */
function lineOf(head: Buffer): Buffer | null {
  const end = head.findIndex((byte) => byte === 0x0a || byte === 0x0d);
  return end === -1 ? null : head.subarray(0, end);
}

/**
 * Columns are field paths of the contract, such as `address.line1` and `pay_rate[0].amount`; `more` names others.
 * `what` appears in messages: "a census".
 */
export type RowKind = { readonly schema: TSchema; readonly more: readonly string[]; readonly what: string };

/** The most array elements per row: enough for a pay history, and a bound on the objects created. */
const ARRAY_COLUMNS_MAX = 50;

type Segment = string | number;
type FieldSchema = { type?: string; properties?: Record<string, FieldSchema>; items?: FieldSchema };

export type Header = ReturnType<typeof readHeader>;

/** Checks a header and converts its rows. */
export function readHeader(names: readonly string[], kind: RowKind) {
  const columns = names.map((name) => name.trim());
  const problems: Problem[] = [];
  const paths = columns.map((column, index) => {
    const path = segmentsOf(column, kind);
    if (path === null)
      problems.push({ path: `column ${index + 1}`, rule: `is not a column of ${kind.what}` });
    else if (columns.indexOf(column) < index) problems.push({ path: column, rule: 'is given twice' });
    return path ?? [];
  });
  /** Returns the object of a row. An empty cell is an absent field. */
  const rowOf = (cells: readonly string[]): Record<string, unknown> => {
    const row: Record<string, unknown> = {};
    for (const [index, path] of paths.entries()) if (cells[index]) put(row, path, cells[index]);
    return row;
  };
  return { problems, rowOf };
}

/** Elements of an array before the first filled one are created empty. */
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

/** Returns the segments of a column's path, or null if the contract has no text field there. */
function segmentsOf(column: string, { schema: root, more }: RowKind): Segment[] | null {
  if (more.includes(column)) return [column];
  let schema: FieldSchema | undefined = root as FieldSchema;
  const segments: Segment[] = [];
  for (const [, name, index] of column.matchAll(/([a-z0-9_]+)|\[(\d{1,2})\]/g)) {
    if (name !== undefined) schema = schema.properties?.[name];
    else schema = Number(index) < ARRAY_COLUMNS_MAX ? schema.items : undefined;
    if (schema === undefined) return null;
    segments.push(name ?? Number(index));
  }
  const written = segments.map((segment) => (typeof segment === 'number' ? `[${segment}]` : `.${segment}`));
  return schema.type === 'string' && written.join('') === `.${column}` ? segments : null;
}

/**
 * Characters that start a formula in spreadsheets, also full-width. An apostrophe in front makes the cell a
 * text; texts with apostrophes get another, so that the original can be restored.
 */
const FORMULA = "'*[=+\\-@\\t\\r\\n\uFF1D\uFF0B\uFF0D\uFF20]";
const LOOKS_LIKE_ONE = new RegExp(`^${FORMULA}`);
const IS_MADE_HARMLESS = new RegExp(`^'${FORMULA}`);

/** Returns a cell that no spreadsheet computes. */
export function harmless(text: string): string {
  return LOOKS_LIKE_ONE.test(text) ? `'${text}` : text;
}

/** Returns the original text of a cell from `harmless`. */
export function asWritten(cell: string): string {
  return IS_MADE_HARMLESS.test(cell) ? cell.slice(1) : cell;
}

/** RFC 4180: each record ends with CRLF, and a cell with a line break of any kind is quoted. */
const WRITTEN = { record_delimiter: '\r\n', quote_record_delimiter: true, eof: true } as const;

/** Returns rows as CSV in UTF-8, the header first. Each page is formatted on request, so memory stays flat. */
export function csvOf<Row>(
  header: readonly string[],
  pages: AsyncIterable<readonly Row[]>,
  cellsOf: (row: Row) => string[],
): Readable {
  const texts = async function* (): AsyncGenerator<string> {
    yield stringify([[...header]], WRITTEN);
    for await (const rows of pages) if (rows.length > 0) yield stringify(rows.map(cellsOf), WRITTEN);
  };
  return Readable.from(texts(), { objectMode: false });
}
