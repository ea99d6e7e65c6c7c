import { parseJson } from '../contract/json.ts';
import { type Header, readHeader } from '../formats/columns.ts';
import { csvRecords } from '../formats/csv.ts';
import { CENSUS_ROWS } from './columns.ts';
import { employeePath, type Piece } from './reading.ts';

/**
 * Reads a census in CSV (RFC 4180, a header, UTF-8) row by row. The organization
 * comes beside it, as JSON; without it the check says that it is required.
 */
export async function* csvPieces(
  content: AsyncIterable<Uint8Array>,
  organization: Uint8Array | null,
): AsyncGenerator<Piece[]> {
  if (organization !== null) yield [organizationPiece(organization)];
  let header: Header | null = null;
  let columns = 0;
  let employees = 0;
  const here = (): string => (header === null ? '' : employeePath(employees));
  for await (const { cells } of csvRecords(content, here)) {
    if (header === null) {
      header = readHeader(cells, CENSUS_ROWS);
      columns = cells.length;
      yield header.problems.map((problem): Piece => ({ kind: 'problem', problem }));
    } else {
      employees += 1;
      yield [rowPiece(header, columns, cells)];
    }
  }
}

function rowPiece(header: Header, columns: number, cells: string[]): Piece {
  if (cells.length !== columns) {
    return { kind: 'unreadable-employee', rule: 'must have as many cells as the header' };
  }
  if (cells.some((cell) => cell.includes('\0'))) {
    return { kind: 'unreadable-employee', rule: 'has a NUL character in a cell' };
  }
  return { kind: 'employee', value: header.rowOf(cells) };
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
