import { pipeline, Readable } from 'node:stream';
import { type CsvError, parse } from 'csv-parse';
import { parseJson } from '../contract/json.ts';
import { readHeader } from './columns.ts';
import { ELEMENT_BYTES_MAX, employeePath, type Piece, TOO_LARGE, Unreadable } from './reading.ts';

/**
 * Reads a census in CSV (RFC 4180, a header, UTF-8) row by row. The organization
 * comes beside it, as JSON; without it the check says that it is required.
 */
export async function* csvPieces(
  content: AsyncIterable<Uint8Array>,
  organization: Uint8Array | null,
): AsyncGenerator<Piece[]> {
  if (organization !== null) yield [organizationPiece(organization)];
  const parser = parse({
    relax_column_count: true,
    skip_empty_lines: true,
    // Left to itself the parser takes the header's line end for all: a row that ends otherwise would keep a part of it.
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: ELEMENT_BYTES_MAX,
  });
  // Its errors reach the loop below as errors of the parser.
  pipeline(Readable.from(validUtf8(content)), parser, () => {});
  let header: ReturnType<typeof readHeader> | null = null;
  let columns = 0;
  let employees = 0;
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      if (header === null) {
        header = readHeader(cells);
        columns = cells.length;
        yield header.problems.map((problem): Piece => ({ kind: 'problem', problem }));
      } else {
        employees += 1;
        yield [rowPiece(header, columns, cells)];
      }
    }
  } catch (error) {
    throw unreadable(error, header === null ? '' : employeePath(employees));
  }
  if (header === null) throw new Unreadable('', 'is empty: a CSV begins with a header');
}

function rowPiece(header: ReturnType<typeof readHeader>, columns: number, cells: string[]): Piece {
  if (cells.length !== columns) {
    return { kind: 'unreadable-employee', rule: 'must have as many cells as the header' };
  }
  if (cells.some((cell) => cell.includes('\0'))) {
    return { kind: 'unreadable-employee', rule: 'has a NUL character in a cell' };
  }
  return { kind: 'employee', value: header.employeeOf(cells) };
}

function organizationPiece(bytes: Uint8Array): Piece {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { kind: 'problem', problem: { path: 'organization', rule: 'is not valid UTF-8' } };
  }
  const parsed = parseJson(text);
  return parsed.ok
    ? { kind: 'organization', value: parsed.value }
    : { kind: 'problem', problem: { path: 'organization', rule: parsed.reason } };
}

/** The parser would put U+FFFD in the place of what is no UTF-8, and that would be uploaded. */
async function* validUtf8(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (part: Uint8Array | undefined, stream: boolean): void => {
    try {
      decoder.decode(part, { stream });
    } catch {
      throw new Unreadable('', 'is not valid UTF-8');
    }
  };
  for await (const part of content) {
    decode(part, true);
    yield part;
  }
  decode(undefined, false);
}

/** The parser's messages quote the cell: only its code and the line are passed on. */
function unreadable(error: unknown, path: string): unknown {
  const { code, lines } = error as Partial<CsvError> & { lines?: number };
  if (code === 'CSV_MAX_RECORD_SIZE') return new Unreadable(path, TOO_LARGE);
  if (typeof code !== 'string' || lines === undefined) return error;
  return new Unreadable(path, `is not valid CSV at line ${lines} (${code})`);
}
