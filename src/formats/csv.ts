import { Readable } from 'node:stream';
import type { TSchema } from 'typebox';
import { didYouMean } from '../contract/check.ts';
import { isAppError, type Problem } from '../errors.ts';
import {
  ELEMENT_BYTES_MAX,
  SAVE_AS,
  unreadable,
  unreadableFor,
  utf16Of,
  validUtf8,
  withHead,
} from './bytes.ts';
import { formatProblem, headerProblems, type NamedColumns } from './csv-header.ts';
import { type Parsed, parsedRows } from './csv-parser.ts';
import { columnFinder } from './usual-headers.ts';
import { refuseWorkbook } from './workbook/bounds.ts';

/**
 * One row that has data: its cells, and the line of the file on which it begins, counting from 1. `broken` is a problem of the
 * whole row, which then has no use. Their paths are '' or a column.
 */
export type CsvRecord = {
  readonly cells: string[];
  readonly line: number;
  readonly broken: Problem | null;
  readonly idProblems: readonly Problem[];
};

/**
 * Yields the records of a CSV (RFC 4180, UTF-8), first the header without blanks. Blank rows, cells of blanks, and columns
 * without a name are no data; a value in such a column is a problem of its row. A header below a title is found by the names
 * of its columns. Errors have the path of `here`.
 */
export async function* csvRecords(
  content: AsyncIterable<Uint8Array>,
  here: () => string,
  named: NamedColumns,
): AsyncGenerator<CsvRecord> {
  let isEmpty = true;
  try {
    for await (const record of recordsOf(content, here, named.names)) {
      isEmpty = false;
      yield record;
    }
  } catch (error) {
    if (!isAppError(error, 'UNREADABLE') || error.problems.some(isUnreadableByAny)) throw error;
    throw unreadableFor([...formatProblem(named), ...error.problems]);
  }
  if (isEmpty) throw unreadable('', 'is empty: a CSV begins with a header');
}

/** A format reads files in other forms, but no broken row and no PDF. */
function isUnreadableByAny({ path, rule }: Problem): boolean {
  return path !== '' || OTHER_FILES.some((file) => file.rule === rule);
}

async function* recordsOf(
  content: AsyncIterable<Uint8Array>,
  here: () => string,
  names: readonly string[],
): AsyncGenerator<CsvRecord> {
  const isColumn = columnFinder(names);
  let header = null as HeaderRow | null;
  let before: Parsed[] = [];
  const begin = ({ record, line }: Parsed): CsvRecord => {
    if (record.some((name) => name.includes('\0')))
      throw unreadable('the header', `has a NUL character: ${SAVE_AS}`);
    const cells = record.map(bareOf);
    header = headerRow(cells);
    return { cells, line, broken: null, idProblems: [] };
  };
  const later = (): CsvRecord[] => before.slice(1).map((row) => recordOf(row, header as HeaderRow));
  for await (const row of parsedRows(validUtf8(byCommas(content), `: ${SAVE_AS}`), here)) {
    if (!withoutBlanks(row.record, header?.names.length ?? 0)) continue;
    if (header !== null) {
      yield recordOf(row, header);
      continue;
    }
    before.push(row);
    const columns = row.record.filter(isColumn).length;
    if (columns < 2) refuseSeparators(row.record.join(), isColumn);
    if (before.length > 1 && columns > 1) {
      throw unreadable('', `has its header at line ${row.line}: delete the rows above it`);
    }
    // A title may be one of the names: no file has a single column.
    if (columns < 2 && before.length < ROWS_ABOVE_HEADER) continue;
    yield begin(before[0] as Parsed);
    yield* later();
    before = [];
  }
  const [first] = before;
  if (first === undefined) return;
  yield begin(first);
  yield* later();
}

/** Rows in which a header is sought: reports have a few lines of titles above it. */
export const ROWS_ABOVE_HEADER = 20;

/** Columns whose cells are ids, which are compared by byte. */
const ID_COLUMN = /(?:^|_)id$/;

/** The names of a header, and the indexes of its columns of ids and of those without a name. */
export type HeaderRow = {
  readonly names: readonly string[];
  readonly ids: readonly number[];
  readonly unnamed: readonly number[];
};

export function headerRow(names: readonly string[]): HeaderRow {
  const indexesOf = (is: (name: string) => boolean) =>
    names.flatMap((name, index) => (is(name) ? [index] : []));
  return { names, ids: indexesOf((name) => ID_COLUMN.test(name)), unnamed: indexesOf((name) => name === '') };
}

/** Blanks at the ends of a cell. `trim` leaves the blanks without width, and the mark with which DOS ends a file. */
const BLANK = '[\\s\\x1a\\u200b-\\u200d\\u2060\\u00ad]';
const BLANK_ENDS = new RegExp(`^${BLANK}+|${BLANK}+$`, 'g');

/** Returns a cell without blanks at its ends. */
export function bareOf(cell: string): string {
  return cell.replace(BLANK_ENDS, '');
}

/** Empties cells of blanks, and removes empty ones after the columns of the header. Returns whether the row has data. */
export function withoutBlanks(cells: string[], columns: number): boolean {
  let end = 0;
  for (let at = 0; at < cells.length; at += 1) {
    const cell = cells[at] as string;
    if (cell === '') continue;
    const first = cell.charCodeAt(0);
    if ((first <= 0x20 || first >= 0xa0) && bareOf(cell) === '') cells[at] = '';
    else end = at + 1;
  }
  if (cells.length > columns) cells.length = Math.max(end, Math.min(cells.length, columns));
  return end > 0;
}

export function recordOf({ record: cells, line }: Parsed, header: HeaderRow): CsvRecord {
  return { cells, line, broken: brokenRow(cells, header), idProblems: idProblems(cells, header) };
}

/** Returns the problem of a row that has no use. `totalRule` is the problem of a total. */
export function brokenRow(
  cells: readonly string[],
  { names: header, unnamed }: HeaderRow,
  totalRule = 'looks like a total: delete the row',
): Problem | null {
  const at = cells.findIndex((cell) => cell.includes('\0'));
  if (at !== -1) return { path: header[at] ?? '', rule: `has a NUL character: ${SAVE_AS}` };
  if (isTotal(cells, header.length)) return { path: '', rule: totalRule };
  if (cells.every((cell, index) => cell === header[index]))
    return { path: '', rule: 'is the header again: delete the row' };
  if (cells.length !== header.length) {
    const rule = `must have as many cells as the header, ${header.length}: it has ${cells.length}`;
    const advice =
      cells.length > header.length
        ? '. A value with a comma must be in quotes'
        : '. Delete the row if it is a total or a note';
    return { path: '', rule: rule + advice };
  }
  const column = unnamed.find((index) => cells[index] !== '');
  if (column === undefined) return null;
  return {
    path: '',
    rule: `has a value in column ${column + 1}, which has no name: name or delete the column`,
  };
}

/** The text of a row that adds up others: `Total 3`, `Bakery Total`. A hyphen or digit follows it in an id. */
const TOTAL =
  /^(?:(?:grand|overall|report|company) )?(?:(?:sub-?)?totals?|count|end of (?:file|report))\b(?![-_\d])|^\S.* (?:sub-?)?totals?(?=:?$)/i;

/** Returns the words of a total that a cell begins with, or null. */
export function totalIn(cell: string): string | null {
  return TOTAL.exec(bareOf(cell))?.[0] ?? null;
}

/** Reports whether one cell names a total, and the rest are numbers or, if it is not the first, empty. `columns`: of the header. */
export function isTotal(cells: readonly string[], columns: number): boolean {
  const filled = cells.filter((cell) => cell !== '');
  const texts = filled.filter((cell) => /\p{L}/u.test(cell));
  const [text] = texts;
  if (text === undefined || texts.length > 1 || totalIn(text) === null) return false;
  return filled.length < columns || text === cells[0];
}

const NONE: readonly Problem[] = [];

/** An id with blanks at its ends matches no other file. */
function idProblems(cells: readonly string[], { names, ids }: HeaderRow): readonly Problem[] {
  let problems: Problem[] | null = null;
  for (const index of ids) {
    const cell = cells[index];
    if (cell === undefined || cell === '') continue;
    const id = bareOf(cell);
    if (cell === id) continue;
    problems ??= [];
    const rule = 'must not begin or end with a blank';
    problems.push({ path: names[index] as string, rule, ...didYouMean(id) });
  }
  return problems ?? NONE;
}

/** The first bytes of files that are no CSV, and why they are refused. */
const OTHER_FILES = [
  [Buffer.from([0x1f, 0x8b]), 'is compressed with gzip'],
  [Buffer.from('%PDF'), 'is a PDF'],
  [Buffer.from('<'), 'is HTML or XML'],
  [Buffer.from('{'), 'is JSON'],
  [Buffer.from('['), 'is JSON'],
].map(([first, what]) => ({ first: first as Buffer, rule: `${what}: ${SAVE_AS}` }));

/** Throws UNREADABLE for content that is no text with columns. */
export function refuseOtherFiles(head: Buffer): void {
  refuseWorkbook(head);
  const file = OTHER_FILES.find(({ first }) => head.indexOf(first) === 0);
  if (file !== undefined) throw unreadable('', file.rule);
}

const SEPARATORS = { ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' };

/** Throws UNREADABLE, before any other error, for other files and separators, which spreadsheets write too. */
function byCommas(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const isWhole = (head: Buffer) => lineOf(head) !== null || head.length > ELEMENT_BYTES_MAX;
  return withHead(content, isWhole, (head) => {
    refuseOtherFiles(head);
    if (utf16Of(head) !== null) throw unreadable('', `is UTF-16: ${SAVE_AS}`);
    const line = lineOf(head) ?? head;
    if (/^"?sep=/i.test(line.toString('latin1', 0, 5))) {
      throw unreadable(
        '',
        `begins with a line "sep=", which is for spreadsheets only: delete it, or ${SAVE_AS}`,
      );
    }
    if (line.includes(',')) return head;
    const separator = Object.entries(SEPARATORS).find(([character]) => line.includes(character));
    if (separator === undefined) return head;
    throw separatedBy(separator[1]);
  });
}

/** Throws UNREADABLE for a header below a title, which may have a comma, with another separator. */
function refuseSeparators(line: string, isColumn: (cell: string) => boolean): void {
  for (const [character, name] of Object.entries(SEPARATORS)) {
    if (line.split(character).filter(isColumn).length > 1) throw separatedBy(name);
  }
}

function separatedBy(name: string) {
  return unreadable('', `has ${name} between its columns: separate them with commas`);
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
export type RowKind = { readonly schema: TSchema; readonly more: readonly string[] } & Pick<
  NamedColumns,
  'what' | 'format'
>;

/** The most array elements per row: enough for a pay history, and a bound on the objects created. */
const ARRAY_COLUMNS_MAX = 50;

type Segment = string | number;
type FieldSchema = {
  type?: string;
  properties?: Record<string, FieldSchema>;
  items?: FieldSchema;
  required?: string[];
};

export type Header = ReturnType<typeof readHeader>;

/** Returns the columns of a kind of rows. An array has the columns of its first element. */
export function columnsOf({
  schema,
  more,
  what,
  format,
}: RowKind): NamedColumns & { schemas: Map<string, TSchema> } {
  const schemas = new Map<string, TSchema>();
  const required: string[] = [];
  const add = (path: string, field: FieldSchema, isRequired: boolean): void => {
    const { properties, items } = field;
    if (items !== undefined) add(`${path}[0]`, items, isRequired);
    else if (properties !== undefined) {
      for (const [name, property] of Object.entries(properties)) {
        const isAlso = isRequired && (field.required ?? []).includes(name);
        add(path === '' ? name : `${path}.${name}`, property, isAlso);
      }
    } else {
      schemas.set(path, field);
      if (isRequired) required.push(path);
    }
  };
  add('', schema as FieldSchema, true);
  return { names: [...schemas.keys(), ...more], required, what, format, schemas };
}

/** Checks a header and converts its rows. `isReadable`: its rows may be read for their problems. */
export function readHeader(columns: readonly string[], kind: RowKind) {
  const known = columnsOf(kind);
  const parsed = columns.map((column) => segmentsOf(column, kind));
  const problems = headerProblems(columns, known, (index) => parsed[index] !== null);
  const paths = parsed.map((path) => path ?? []);
  /** Returns the object of a row. An empty cell is an absent field. */
  const rowOf = (cells: readonly string[]): Record<string, unknown> => {
    const row: Record<string, unknown> = {};
    for (const [index, path] of paths.entries()) if (cells[index]) put(row, path, cells[index]);
    return row;
  };
  /** Returns the problem of a row that lacks most of what every row has, instead of one for each field; else null. */
  const emptinessOf = (cells: readonly string[]): Problem | null => {
    const filled = cells.filter((cell) => cell !== '').length;
    if (filled * 2 >= known.required.length) return null;
    const rule = `has ${filled} of the ${known.required.length} values that each row needs: delete the row if it is a total or a note`;
    return { path: '', rule };
  };
  const isReadable = known.required.every((name) => columns.includes(name));
  return { problems, isReadable, rowOf, emptinessOf };
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

/** Reports whether a kind of rows has a column of this name. */
export function isColumnOf(kind: RowKind, name: string): boolean {
  return segmentsOf(name, kind) !== null;
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

/** Characters for which RFC 4180 quotes a cell. */
const IS_QUOTED = /[",\r\n]/;

/** Returns a record by RFC 4180. A library's options took five times as long, a fifth of the time that a run's CSV takes. */
function csvRecord(cells: readonly string[]): string {
  const quoted = cells.map((cell) => (IS_QUOTED.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell));
  return `${quoted.join(',')}\r\n`;
}

/** Returns rows as CSV in UTF-8, the header first. Each page is formatted on request, so memory stays flat. */
export function csvOf<Row>(
  header: readonly string[],
  pages: AsyncIterable<readonly Row[]>,
  cellsOf: (row: Row) => string[],
): Readable {
  const texts = async function* (): AsyncGenerator<string> {
    yield csvRecord(header);
    for await (const rows of pages)
      if (rows.length > 0) yield rows.map((row) => csvRecord(cellsOf(row))).join('');
  };
  return Readable.from(texts(), { objectMode: false });
}
