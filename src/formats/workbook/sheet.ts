/** Reads the rows of a sheet as texts. Runs in the process of one workbook. */
import type { Archive } from './archive.ts';
import type { WorkbookBounds } from './bounds.ts';
import { columnName, columnOf, isoText, type NumberStyle, numberText, unescaped } from './cell-text.ts';
import { DAMAGED, Refused } from './refused.ts';

/** What cells refer to. */
export type Book = {
  readonly strings: readonly string[];
  readonly styles: readonly NumberStyle[];
  readonly is1904: boolean;
};

/** A cell that has no text, and why. */
export type BrokenCell = readonly [column: number, rule: string];

export type SheetRow = {
  /** The number of the row in the sheet. */
  readonly line: number;
  readonly cells: string[];
  readonly broken: BrokenCell[];
};

/** Cells that are merged across rows: the one that begins last. */
export type Merged = { readonly cells: string; readonly from: number; readonly to: number };

export type SheetEnd = { hiddenRows: number; merged: Merged | null };

type Bounds = Pick<WorkbookBounds, 'columns' | 'rows'>;

/** The last row of a workbook. */
const ROWS_MAX = 1_048_576;

/** The errors that a cell may have. Other texts are not repeated. */
export const CELL_ERROR = /^#(?:N\/A|VALUE!|REF!|DIV\/0!|NUM!|NAME\?|NULL!|SPILL!|CALC!|GETTING_DATA)$/;

/** Calls `onRow` for each row that has data, and `afterPiece` after each piece of the sheet: false ends the reading. */
export async function readSheet(
  archive: Archive,
  part: string,
  book: Book,
  bounds: Bounds,
  onRow: (row: SheetRow) => void,
  afterPiece: () => Promise<boolean>,
): Promise<SheetEnd> {
  const end: SheetEnd = { hiddenRows: 0, merged: null };
  let row: SheetRow | null = null;
  let line = 0;
  let rows = 0;
  let isHidden = false;
  let column = -1;
  let cell: WrittenCell | null = null;
  /** The element whose text belongs to the cell. */
  let reading: 'value' | 'inline' | null = null;
  let isPhonetic = false;

  const beginRow = ({ r, hidden }: Readonly<Record<string, string>>): void => {
    const at = r === undefined ? line + 1 : Number(r);
    if (!Number.isInteger(at) || at <= line || at > ROWS_MAX) throw new Refused(DAMAGED);
    line = at;
    isHidden = hidden === '1' || hidden === 'true';
    column = -1;
    row = { line, cells: [], broken: [] };
  };
  const beginCell = ({ r, t, s }: Readonly<Record<string, string>>): void => {
    const at = r === undefined ? column + 1 : columnOf(r);
    if (at <= column) throw new Refused(DAMAGED);
    column = at;
    cell = {
      type: t ?? 'n',
      style: s === undefined ? null : Number(s),
      value: null,
      inline: '',
      isFormula: false,
    };
  };
  const endCell = ({ cells, broken }: SheetRow, written: WrittenCell): void => {
    const shown = shownIn(written, book);
    if (shown === '') return;
    if (column >= bounds.columns)
      throw new Refused(
        `must have at most ${bounds.columns} columns, and has a value in the cell ${columnName(column)}${line}`,
      );
    while (cells.length < column) cells.push('');
    // A row of broken cells is not blank.
    cells.push(typeof shown === 'string' ? shown : '#');
    if (typeof shown !== 'string')
      broken.push([column, `${shown.rule.replace('%', `${columnName(column)}${line}`)}`]);
  };
  const endRow = (ended: SheetRow): void => {
    if (ended.cells.length === 0) return;
    rows += 1;
    if (rows > bounds.rows) throw new Refused(`must have at most ${bounds.rows} rows`);
    if (isHidden) end.hiddenRows += 1;
    onRow(ended);
  };

  await archive.read(part, {
    open(name, attributes) {
      if (name === 'row') beginRow(attributes);
      else if (name === 'c' && row !== null) beginCell(attributes);
      else if (name === 'mergeCell') end.merged = laterOf(end.merged, mergedIn(attributes.ref ?? ''));
      else if (cell === null) return;
      else if (name === 'f') cell.isFormula = true;
      else if (name === 'v') {
        cell.value ??= '';
        reading = 'value';
      } else if (name === 'rPh') isPhonetic = true;
      else if (name === 't' && !isPhonetic) reading = 'inline';
    },
    text(text) {
      if (cell === null || reading === null) return;
      if (reading === 'value') cell.value += text;
      else cell.inline += text;
    },
    close(name) {
      if (name === 'v' || name === 't') reading = null;
      else if (name === 'rPh') isPhonetic = false;
      else if (name === 'c' && cell !== null) {
        endCell(row as SheetRow, cell);
        cell = null;
      } else if (name === 'row' && row !== null) {
        endRow(row);
        row = null;
      }
    },
    afterPiece,
  });
  return end;
}

type WrittenCell = {
  readonly type: string;
  readonly style: number | null;
  value: string | null;
  inline: string;
  isFormula: boolean;
};

const NO_VALUE = {
  rule: 'has a formula without a value in the cell %: open the file in Excel, save it, and send it again',
};

/** Returns the text of a cell, or the rule that it breaks: `%` is its place. */
function shownIn(
  { type, style, value, inline, isFormula }: WrittenCell,
  book: Book,
): string | { rule: string } {
  if (type === 'inlineStr') return unescaped(inline);
  // A formula whose result is an empty text has an empty value of the type `str`.
  if (isFormula && (value === null || (value === '' && type !== 'str'))) return NO_VALUE;
  if (value === null || value === '') return '';
  if (type === 'str') return unescaped(value);
  if (type === 's') return known(/^\d+$/.test(value) ? book.strings[Number(value)] : undefined);
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type === 'd') return isoText(value);
  if (type === 'e') {
    const error = CELL_ERROR.test(value) ? `the error ${value}` : 'an error';
    return { rule: `has ${error} in the cell %: correct it` };
  }
  if (type !== 'n') throw new Refused(DAMAGED);
  const numberStyle = style === null ? undefined : known(book.styles[style]);
  return known(numberText(value, numberStyle, book.is1904) ?? undefined);
}

/** Throws for a reference to what the workbook does not have. */
function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Refused(DAMAGED);
  return value;
}

function mergedIn(cells: string): Merged | null {
  const [, from = '', to = ''] = /^[A-Z]{1,3}(\d{1,7}):[A-Z]{1,3}(\d{1,7})$/.exec(cells) ?? [];
  return from === to ? null : { cells, from: Number(from), to: Number(to) };
}

function laterOf(one: Merged | null, next: Merged | null): Merged | null {
  if (one === null || next === null) return one ?? next;
  return next.from > one.from ? next : one;
}
