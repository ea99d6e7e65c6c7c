/** Writes what a file format makes of a file. */
import { within } from '../contract/check.ts';
import { isAppError } from '../errors.ts';
import { type CsvRecord, csvOf } from './csv.ts';
import { createProblems } from './rows.ts';

/** Returns the strict CSV of records. It is complete, because the last row may have a problem. Throws ROWS_REFUSED. */
export async function strictCsv(
  records: AsyncGenerator<CsvRecord>,
  pathOf: (row: number) => string,
): Promise<Buffer[]> {
  const problems = createProblems();
  const parts: Buffer[] = [];
  let rows = 0;
  const strictRows = async function* (): AsyncGenerator<string[][]> {
    for await (const { cells, line, broken, idProblems } of records) {
      problems.noteLine(rows, line);
      const wrong = broken === null ? idProblems : [broken];
      problems.add(...wrong.map((problem) => within(pathOf(rows), problem)));
      rows += 1;
      if (problems.isEmpty) yield [cells];
    }
  };
  try {
    const header = await records.next();
    if (!header.done) {
      const csv = csvOf(header.value.cells, strictRows(), (cells) => cells);
      for await (const part of csv) parts.push(part as Buffer);
    }
  } catch (error) {
    if (!isAppError(error, 'UNREADABLE')) throw error;
    problems.add(...error.problems);
  }
  problems.assertNone();
  return parts;
}
