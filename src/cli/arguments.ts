/** The values of options and arguments, and the files that they name. */

import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { InvalidArgumentError } from 'commander';
import { ID_MAX_CHARACTERS, REASON_MAX_CHARACTERS } from '../contract/fields.ts';
import { isDay, toInstant } from '../contract/instant.ts';
import { parseJson } from '../contract/json.ts';
import { type Columns, ROW_TYPES, type RowFormat, type Rows, readRows } from '../formats/rows.ts';
import { pathSegment } from '../outbox/client.ts';
import { failed, wrongUsage } from './failure.ts';
import { printable } from './output.ts';

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };
/** The length of our own instants without the Z, such as `2026-11-20T17:00:00.000`. */
const MILLISECONDS_LENGTH = 23;

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

export function day(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError('It must be a date, such as 2026-07-01.');
}

/** Returns an instant in the form that the database uses: UTC, milliseconds. A date is its first instant. */
export function instant(text: string): string {
  const found = toInstant(isDay(text) ? `${text}T00:00:00Z` : text);
  if (found !== null) return `${found.slice(0, MILLISECONDS_LENGTH)}Z`;
  throw new InvalidArgumentError('It must be a date or a date-time, such as 2026-07-01T08:00:00Z.');
}

/** Returns a period in milliseconds. */
export function period(text: string): number {
  const [, count, unit = ''] = /^(\d{1,4})([hd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new InvalidArgumentError('It must be a number of hours or days, such as 12h or 90d.');
}

export function truth(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('It must be true or false.');
}

export function address(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '') return text;
  throw new InvalidArgumentError('It must be an http:// or https:// URL without a user name.');
}

/** For an option that may be repeated. */
export function several<T>(parse: (text: string) => T): (text: string, before?: T[]) => T[] {
  return (text, before = []) => [...before, parse(text)];
}

/** Returns an employer id that fits into the address of the service, which its census is uploaded to. */
export function employerId(text: string): string {
  if (pathSegment(text) !== null && [...text].length <= ID_MAX_CHARACTERS) return text;
  throw wrongUsage(
    `--employer must be an id of 1 to ${ID_MAX_CHARACTERS} characters that are valid in a URL`,
  );
}

/** Returns a reason without surrounding blanks. Throws WRONG_USAGE if it is empty or too long. */
export function reasonOf(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= REASON_MAX_CHARACTERS) return reason;
  throw wrongUsage(`--reason must have 1 to ${REASON_MAX_CHARACTERS} characters`);
}

/** The limit of the API for the body of a run or a setting. */
const JSON_BYTES_MAX = 8 * 1024 * 1024;

/** Returns the unchecked value in a JSON file. Throws if there is no file or no JSON in it. */
export async function readJsonFile(path: string): Promise<unknown> {
  const name = printable(path);
  const { size } = await stat(path);
  if (size > JSON_BYTES_MAX) throw failed(`${name} is larger than ${JSON_BYTES_MAX / 1024 / 1024} MiB`);
  const parsed = parseJson((await readFile(path, 'utf8')).replace(/^\uFEFF/, ''));
  if (!parsed.ok) throw failed(`${name} ${parsed.reason}`);
  return parsed.value;
}

/** A file name's extension is its format. */
const ROW_FORMATS = Object.keys(ROW_TYPES) as RowFormat[];

export type RowsFile = {
  /** In bytes. */
  size: number;
  format: RowFormat;
  /** Reads the bytes from the start. `onBytes` receives the length of each part. */
  read(onBytes?: (bytes: number) => void): AsyncIterable<Uint8Array>;
  /** Reads the rows from the start. `onBytes` receives the length of each part. */
  open(columns: Columns, onBytes?: (bytes: number) => void): Rows;
};

/** Opens a file of rows. Throws if there is none or its extension is unknown. */
export async function findRowsFile(path: string): Promise<RowsFile> {
  const extension = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase();
  const format = ROW_FORMATS.find((name) => name === extension);
  if (format === undefined)
    throw wrongUsage('the file must be a .csv, .json or .ndjson file: its extension is its format');
  const found = await stat(path);
  if (!found.isFile()) throw failed(`${printable(path)} is not a file: use a .csv, .json or .ndjson file`);
  const read: RowsFile['read'] = (onBytes = () => {}) => counted(createReadStream(path), onBytes);
  return {
    size: found.size,
    format,
    read,
    open: (columns, onBytes) => readRows(read(onBytes), format, columns),
  };
}

async function* counted(
  parts: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const part of parts) {
    onBytes(part.length);
    yield part;
  }
}

export const ROWS_FILE = '.csv, .json or .ndjson file';
