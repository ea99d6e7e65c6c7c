/** Reads a workbook of a test as an import does. */
import { isAppError, type Problem } from '../../src/errors.ts';
import { WORKBOOK_BOUNDS, type WorkbookBounds } from '../../src/formats/workbook/bounds.ts';
import { type WorkbookForm, workbookRows } from '../../src/formats/workbook/rows.ts';
import type { Merged } from '../../src/formats/workbook/sheet.ts';
import { parts } from './read.ts';

type Read = {
  rows: string[][];
  lines: number[];
  broken: string[];
  problem: Problem | undefined;
  form: WorkbookForm | null;
  merged: Merged | null;
};

export async function readWorkbook(
  file: Buffer,
  bounds: Partial<WorkbookBounds> = {},
  sheet: string | null = null,
): Promise<Read> {
  const result: Read = { rows: [], lines: [], broken: [], problem: undefined, form: null, merged: null };
  const notes = {
    form: (form: WorkbookForm) => {
      result.form = form;
    },
    merged: (cells: Merged) => {
      result.merged = cells;
    },
  };
  try {
    for await (const { record, line, broken } of workbookRows(parts(file), sheet, notes, {
      ...WORKBOOK_BOUNDS,
      ...bounds,
    })) {
      result.rows.push(record);
      result.lines.push(line);
      result.broken.push(...(broken?.values() ?? []));
    }
  } catch (error) {
    if (!isAppError(error, 'UNREADABLE')) throw error;
    [result.problem] = error.problems;
  }
  return result;
}
