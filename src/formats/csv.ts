import { pipeline, Readable } from 'node:stream';
import { type CsvError, parse } from 'csv-parse';
import { validUtf8 } from './bytes.ts';
import { ELEMENT_BYTES_MAX, TOO_LARGE, unreadable } from './unreadable.ts';

/** One record: its cells as text, and the line of the file that it ends on, the first line being 1. */
export type CsvRecord = { readonly cells: string[]; readonly line: number };

type Parsed = { record: string[]; info: { lines: number } };

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The records of a CSV (RFC 4180, UTF-8), the header first; empty lines are left out. `here` says where the reading
 * is, for what ends it. Throws `Unreadable`, and what the content throws.
 */
export async function* csvRecords(
  content: AsyncIterable<Uint8Array>,
  here: () => string,
): AsyncGenerator<CsvRecord> {
  const parser = parse({
    relax_column_count: true,
    skip_empty_lines: true,
    // Left to itself the parser takes the header's line end for all: a row that ends otherwise would keep a part of it.
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: ELEMENT_BYTES_MAX,
    info: true,
  });
  // Its errors reach the loop below as errors of the parser.
  pipeline(Readable.from(validUtf8(byCommas(content))), parser, () => {});
  let isEmpty = true;
  try {
    for await (const { record, info } of parser as AsyncIterable<Parsed>) {
      isEmpty = false;
      yield { cells: record, line: info.lines };
    }
  } catch (error) {
    throw toldWithoutCells(error, here());
  }
  if (isEmpty) throw unreadable('', 'is empty: a CSV begins with a header');
}

/**
 * The same bytes. Spreadsheets of many countries write semicolons, which would make one column of a row, or one
 * amount of two cells. The first line is held back until it ends, so that nothing else is said of it.
 */
async function* byCommas(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const part of content) {
    if (head === null) {
      yield part;
      continue;
    }
    head = Buffer.concat([head, part]);
    if (lineOf(head) === null && head.length <= ELEMENT_BYTES_MAX) continue;
    refuseSemicolons(head);
    yield head;
    head = null;
  }
  if (head === null) return;
  refuseSemicolons(head);
  yield head;
}

function refuseSemicolons(head: Buffer): void {
  const line = lineOf(head) ?? head;
  if (line.includes(';') && !line.includes(',')) {
    throw unreadable('', 'has semicolons between its columns: separate them with commas');
  }
}

/** The first line, or null when it has no end yet. */
function lineOf(head: Buffer): Buffer | null {
  const end = head.findIndex((byte) => byte === LINE_FEED || byte === CARRIAGE_RETURN);
  return end === -1 ? null : head.subarray(0, end);
}

/** The parser's messages quote the cell: only its code and the line are passed on. */
function toldWithoutCells(error: unknown, path: string): unknown {
  const { code, lines } = error as Partial<CsvError> & { lines?: number };
  if (code === 'CSV_MAX_RECORD_SIZE') return unreadable(path, TOO_LARGE);
  if (typeof code !== 'string' || lines === undefined) return error;
  return unreadable(path, `is not valid CSV at line ${lines} (${code})`);
}
