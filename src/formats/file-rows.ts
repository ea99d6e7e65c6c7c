/** The rows of a file in any form, as texts: a text file, or a workbook, which is recognized by its content. */
import { withHead } from './bytes.ts';
import { type Parsed, parsedRows } from './csv-parser.ts';
import { decoded, type TextForm } from './decoded.ts';
import { refuseOldWorkbook, ZIP } from './workbook/bounds.ts';
import { type WorkbookForm, type WorkbookRow, workbookRows } from './workbook/rows.ts';
import { CELL_ERROR, type Merged } from './workbook/sheet.ts';

/** How a file was read, for the person who sent it. */
export type FileForm = TextForm | WorkbookForm;

export type RowsWanted = {
  /** Recognizes names of columns, which show the separator of a text. */
  isColumn(cell: string): boolean;
  /** The sheet of a workbook; null: the only one with data. */
  readonly sheet: string | null;
  /** Receives the form before the first row. Its counts grow until the last one. */
  form(form: FileForm): void;
  /** Receives the cells that are merged across rows, after the last row. */
  merged(cells: Merged): void;
};

export async function* fileRows(
  content: AsyncIterable<Uint8Array>,
  wanted: RowsWanted,
): AsyncGenerator<WorkbookRow> {
  // The bytes that show a workbook are in one part.
  const parts = withHead(
    content,
    (bytes) => bytes.length >= ZIP.length,
    (bytes) => bytes,
  );
  const { value: head } = await parts.next();
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    if (head !== undefined) yield head;
    yield* parts;
  };
  const first = Buffer.from(head ?? []);
  refuseOldWorkbook(first);
  if (first.indexOf(ZIP) === 0) {
    yield* workbookRows(whole(), wanted.sheet, wanted);
    return;
  }
  const file = await decoded(whole(), wanted.isColumn);
  wanted.form(file);
  for await (const row of parsedRows(file.text, () => '', { delimiter: file.separator, isRelaxed: true }))
    yield withErrors(row);
}

/** A number or a date that is wider than its column, as a spreadsheet writes it. */
const TOO_NARROW = /^#{3,}$/;
const TOO_NARROW_RULE = 'was wider than its column: widen the column, and export the file again';

/** Returns a row of a text with its cells that a spreadsheet exported without their value. */
function withErrors(row: Parsed): WorkbookRow {
  const broken = row.record.flatMap((cell, index): [number, string][] => {
    if (CELL_ERROR.test(cell)) return [[index, `has the error ${cell}: correct it`]];
    return TOO_NARROW.test(cell) ? [[index, TOO_NARROW_RULE]] : [];
  });
  return broken.length === 0 ? row : { ...row, broken: new Map(broken) };
}
