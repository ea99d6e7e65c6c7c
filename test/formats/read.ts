/** Parses complete tables from text and bytes. */

import { describe } from '../../src/contract/check.ts';
import { type AppError, isAppError, type Problem } from '../../src/errors.ts';
import {
  type Columns,
  createProblems,
  type GivenRow,
  type RowFormat,
  readRows,
} from '../../src/formats/rows.ts';

export const COLUMNS: Columns = { list: 'lines', required: ['employee_id', 'amount'], optional: ['note'] };

/** A stream of text and byte chunks. */
export async function* parts(...all: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of all) yield Buffer.from(part as string);
}

/** The same bytes, one per chunk. */
export function byteByByte(text: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text as string);
  return parts(...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
}

/** A parsed table: its valid rows, and the problems of its invalid rows. */
export async function readAll(
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  format: RowFormat,
): Promise<{ rows: GivenRow['fields'][]; problems: Problem[] }> {
  const given = typeof content === 'string' || content instanceof Uint8Array ? parts(content) : content;
  const rows: GivenRow['fields'][] = [];
  const problems = createProblems();
  let rowsRead = 0;
  try {
    for await (const row of readRows(given, format, COLUMNS)) {
      problems.noteLine(rowsRead, row.line);
      rowsRead += 1;
      if ('problem' in row) problems.add(row.problem);
      else rows.push(row.fields);
    }
  } catch (error) {
    if (!isAppError(error, 'UNREADABLE')) throw error;
    problems.add(...error.problems);
  }
  return { rows, problems: [...((await refusalOf(async () => problems.assertNone()))?.problems ?? [])] };
}

/** Returns the refusal that a call throws; null if it throws none. */
export async function refusalOf(call: () => Promise<unknown>): Promise<AppError | null> {
  try {
    await call();
    return null;
  } catch (error) {
    if (isAppError(error)) return error;
    throw error;
  }
}

/** Returns the problems of the refusal that a call throws, as printed. */
export async function refusedFor(call: () => Promise<unknown>): Promise<string[]> {
  return described((await refusalOf(call))?.problems ?? []);
}

/** The problems as printed. */
export function described(problems: readonly Problem[]): string[] {
  return problems.map(describe);
}
