/** Tries a census file: with a proposed format, or converted by a stored one. Stores nothing. */
import { within } from '../contract/check.ts';
import { isAppError } from '../errors.ts';
import { type CsvRecord, csvOf } from '../formats/csv.ts';
import type { FileFormat } from '../formats/file-format.ts';
import { proposeFormat } from '../formats/proposal.ts';
import { fileReader } from '../formats/repair.ts';
import { createProblems } from '../formats/rows.ts';
import { checkCensus } from './check.ts';
import { CENSUS_FILE, employeePath } from './reading.ts';

/** Proposes a format, and checks the file as it would be read with it. `before`: the employer's format. */
export async function proposeCensusFormat(
  content: AsyncIterable<Uint8Array>,
  before: FileFormat | null,
  today: string,
) {
  const proposal = proposeFormat(CENSUS_FILE, before);
  const through = fileReader({ kind: CENSUS_FILE, find: proposal.find, today });
  const { repairs } = through;
  const checked = await checkCensus({ format: 'csv', content, through });
  // The file has no organization.
  const problems = checked.problems.filter(({ path }) => path !== 'organization');
  const problem_count = checked.problemCount - (checked.problems.length - problems.length);
  const format = proposal.formatAfter(repairs);
  const unread = format?.columns.filter(({ field }) => field === null).map(({ header }) => header) ?? [];
  return { format, unread, valid: problem_count === 0, problem_count, problems, repairs };
}

/** Returns the strict CSV of records. It is complete, because the last row may have a problem. Throws ROWS_REFUSED. */
export async function convertedCensus(records: AsyncGenerator<CsvRecord>) {
  const problems = createProblems();
  const parts: Buffer[] = [];
  let rows = 0;
  const strictRows = async function* (): AsyncGenerator<string[][]> {
    for await (const { cells, line, broken, idProblems } of records) {
      problems.noteLine(rows, line);
      const wrong = broken === null ? idProblems : [broken];
      problems.add(...wrong.map((problem) => within(employeePath(rows), problem)));
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
