/** Employment changes of one kind in a file: JSON (one, or a list), newline-delimited JSON, or CSV. */
import { givenFieldPath, type Problem } from '../contract/check.ts';
import type { ParsedJson } from '../contract/json.ts';
import type { ChangeKind } from '../employment/change.ts';
import { CHANGE_SCHEMAS } from '../employment/change-view.ts';
import { slices, Unreadable } from '../formats/bytes.ts';
import { csvRecords, type Header, readHeader } from '../formats/csv.ts';
import { jsonPieces, ndjsonValues } from '../formats/json-list.ts';
import { ROWS_BYTES_MAX, type RowFormat } from '../formats/rows.ts';

/** A row, unchecked, and its path for what is found to be wrong with it: `changes[0]`; '' of the only one of a file. */
export type GivenChange = { path: string; value: unknown } | { problem: Problem };

const LIST = 'changes';
const pathOf = (row: number): string => `${LIST}[${row}]`;

/** Reads the rows one by one, in flat memory. Throws `Unreadable`, and what the content throws. */
export function givenChanges(
  content: AsyncIterable<Uint8Array>,
  format: RowFormat,
  kind: ChangeKind,
): AsyncGenerator<GivenChange> {
  const bytes = slices(content, ROWS_BYTES_MAX);
  if (format === 'csv') return csvChanges(bytes, kind);
  return format === 'json' ? jsonChanges(bytes) : ndjsonChanges(bytes);
}

/** The columns are field paths of the interface, as in a census: `address.line1`, `pay_rate[0].amount`. */
async function* csvChanges(bytes: AsyncIterable<Uint8Array>, kind: ChangeKind): AsyncGenerator<GivenChange> {
  const rowKind = { schema: CHANGE_SCHEMAS[kind], more: [], what: `a ${kind}` };
  let header: Header | null = null;
  let columns = 0;
  let rows = 0;
  const here = (): string => (header === null ? '' : pathOf(rows));
  for await (const { cells, line } of csvRecords(bytes, here)) {
    if (header === null) {
      header = readHeader(cells, rowKind);
      columns = cells.length;
      if (header.problems.length > 0) throw new Unreadable(header.problems);
      continue;
    }
    const path = pathOf(rows);
    rows += 1;
    if (cells.length !== columns) {
      const rule = `must have as many cells as the header, ${columns}: it has ${cells.length}, at line ${line}`;
      yield { problem: { path, rule } };
    } else if (cells.some((cell) => cell.includes('\0'))) {
      yield { problem: { path, rule: `has a NUL character in a cell, at line ${line}` } };
    } else yield { path, value: header.rowOf(cells) };
  }
}

async function* jsonChanges(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<GivenChange> {
  // One change alone is an object too: its fields are then what stands beside a list that is not there.
  const fields: [string, unknown][] = [];
  let rows = 0;
  for await (const pieces of jsonPieces(bytes, { list: LIST, orBare: true, pathOf })) {
    for (const piece of pieces) {
      if (piece.kind === 'field') fields.push([piece.name, piece.value]);
      else if (piece.kind === 'problem') yield piece;
      else {
        yield givenOf(piece.parsed, pathOf(rows));
        rows += 1;
      }
    }
  }
  if (fields.length === 0) return;
  if (rows === 0) yield { path: '', value: Object.fromEntries(fields) };
  else {
    for (const [name] of fields) {
      yield { problem: { path: givenFieldPath('', name), rule: 'is not a field of a list of changes' } };
    }
  }
}

async function* ndjsonChanges(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<GivenChange> {
  let rows = 0;
  for await (const parsed of ndjsonValues(bytes, () => pathOf(rows))) {
    yield givenOf(parsed, pathOf(rows));
    rows += 1;
  }
}

function givenOf(parsed: ParsedJson, path: string): GivenChange {
  return parsed.ok ? { path, value: parsed.value } : { problem: { path, rule: parsed.reason } };
}
