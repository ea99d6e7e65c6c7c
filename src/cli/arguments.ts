/** The values of options and arguments, and the files that they name. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open as openFile, readFile, stat } from 'node:fs/promises';
import { InvalidArgumentError } from 'commander';
import { ID_MAX_CHARACTERS, pathSegment, REASON_MAX_CHARACTERS } from '../contract/fields.ts';
import { isDay, toInstant } from '../contract/instant.ts';
import { parseJson } from '../contract/json.ts';
import {
  type Columns,
  type CsvReader,
  ROW_TYPES,
  type RowFormat,
  type Rows,
  readRows,
} from '../formats/rows.ts';
import { wholeFile } from '../formats/whole-file.ts';
import { failed, wrongUsage } from './failure.ts';

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };

/** Creates the parser of an option from a function that returns null for a text that is not `what`. */
function parser<T>(what: string, read: (text: string) => T | null): (text: string) => T {
  return (text) => {
    const value = read(text);
    if (value === null) throw new InvalidArgumentError(`It must be ${what}.`);
    return value;
  };
}

export function wholeNumber(least: number, most: number): (text: string) => number {
  return parser(`a whole number from ${least} to ${most}`, (text) => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    return number >= least && number <= most ? number : null;
  });
}

export const truth = parser('true or false', (text) =>
  text === 'true' || text === 'false' ? text === 'true' : null,
);

/** Returns an instant in the form that the database uses: UTC, milliseconds. A date is its first instant. */
export const instant = parser('a date or a date-time, such as 2026-07-01T08:00:00Z', (text) => {
  const utc = toInstant(isDay(text) ? `${text}T00:00:00Z` : text);
  return utc && `${utc.slice(0, '2026-11-20T17:00:00.000'.length)}Z`;
});

/** Returns a period in milliseconds. */
export const period = parser('a number of hours or days, such as 12h or 90d', (text) => {
  const [, count, unit = ''] = /^(\d{1,4})([hd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  return ms > 0 ? ms : null;
});

export const address = parser('an http:// or https:// URL without a user name', (text) => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '' ? text : null;
});

/** For an option that may be repeated. */
export function several<T>(parse: (text: string) => T): (text: string, before?: T[]) => T[] {
  return (text, before = []) => [...before, parse(text)];
}

/** Returns an employer id that fits into the address of the service, which its census is uploaded to. */
export function employerId(text: string): string {
  if (pathSegment(text) !== null && [...text].length <= ID_MAX_CHARACTERS) return text;
  throw wrongUsage(
    `--employer must be an ID of 1 to ${ID_MAX_CHARACTERS} characters that are valid in a URL`,
  );
}

export function reasonOf(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= REASON_MAX_CHARACTERS) return reason;
  throw wrongUsage(`--reason must have 1 to ${REASON_MAX_CHARACTERS} characters`);
}

/** The limit of the API for the body of a run or a setting. */
const JSON_BYTES_MAX = 8 * 1024 * 1024;

/** Returns the size of a file. Throws for a folder, because the error of reading one names no path. */
export async function sizeOfFile(path: string): Promise<number> {
  const file = await stat(path);
  if (file.isDirectory()) throw failed(`${path} is a folder: give a file`);
  return file.size;
}

/** Returns the unchecked value in a JSON file. */
export async function readJsonFile(path: string): Promise<unknown> {
  if ((await sizeOfFile(path)) > JSON_BYTES_MAX)
    throw failed(`${path} is larger than ${JSON_BYTES_MAX / 1024 / 1024} MiB`);
  const bytes = await readFile(path);
  // Other bytes would become U+FFFD.
  if (!isUtf8(bytes)) throw failed(`${path} must be valid UTF-8: save it as UTF-8`);
  const parsed = parseJson(bytes.toString().replace(/^\uFEFF/, ''));
  if (!parsed.ok) throw failed(`${path} ${parsed.reason}`);
  return parsed.value;
}

export const ROWS_FILE = '.csv, .xlsx, .json or .ndjson file';

export type RowsFile = {
  /** In bytes. */
  size: number;
  format: RowFormat;
  /** Reads the content from the start. `onPart` receives each part before it is used. */
  read(onPart?: (part: Buffer) => void): AsyncIterable<Uint8Array>;
  /** Reads the rows from the start. */
  open(columns: Columns, through?: CsvReader | null): Rows;
};

/** Opens a file of rows, whose extension is its format. Throws if there is none. */
export async function findRowsFile(path: string): Promise<RowsFile> {
  const [, ending] = /\.([a-z]+)$/i.exec(path) ?? [];
  const extension = ending?.toLowerCase().replace(/^xls[xm]?$/, 'csv');
  const format = (Object.keys(ROW_TYPES) as RowFormat[]).find((name) => name === extension);
  if (format === undefined) throw wrongUsage(`the file must be a ${ROWS_FILE}: its extension is its format`);
  const size = await sizeOfFile(path);
  const read = async function* (onPart: (part: Buffer) => void = () => {}): AsyncGenerator<Buffer> {
    for await (const part of createReadStream(path)) {
      onPart(part);
      yield part;
    }
  };
  const open: RowsFile['open'] = (columns, through) => readRows(read(), format, columns, through);
  return { size, format, read, open };
}

/** Opens a file as a stream. Throws if there is none. */
export async function streamOf(path: string): Promise<AsyncIterable<Uint8Array>> {
  await sizeOfFile(path);
  return wholeFile(await openFile(path));
}
