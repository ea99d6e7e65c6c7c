/** Reads a file through its format: yields rows in the contract's form, and reports every change of a value. */
import type { Problem } from '../errors.ts';
import { isAppError } from '../errors.ts';
import { unreadable, unreadableFor } from './bytes.ts';
import { cellRepair, rateChecker } from './cell-repair.ts';
import {
  asWritten,
  bareOf,
  brokenRow,
  type CsvRecord,
  type HeaderRow,
  headerRow,
  isTotal,
  ROWS_ABOVE_HEADER,
  recordOf,
  totalIn,
  withoutBlanks,
} from './csv.ts';
import { type FileFormat, type FileKind, headerKey, type RepairRule, withPrefix } from './file-format.ts';
import { type FileForm, fileRows } from './file-rows.ts';
import type { WorkbookRow } from './workbook/rows.ts';
import type { Merged } from './workbook/sheet.ts';

/** The examples of a change: enough to see what it does. */
const EXAMPLES_MAX = 3;

type RepairExample = { line: number; before: string; after: string };

/** The cells of a column that one rule changed. */
export type RepairChange = {
  field: string;
  header: string;
  rule: RepairRule;
  cells: number;
  confirmed: boolean;
  examples: RepairExample[];
};

export type Repairs = {
  /** How the file was written; null before its first row was read. */
  form: FileForm | null;
  /** The line of the header; null if no header was found. */
  header_line: number | null;
  /** The rows that were read, without those that are left out. */
  rows: number;
  left_out: { reason: string; rows: number }[];
  changes: RepairChange[];
  /** The format refused the file: its header is another one, or a change is not confirmed. */
  isRefused: boolean;
};

/** How the format of a file is found: a stored one, or a proposal for its header. */
export type FormatFinder = {
  /** Recognizes names of columns, by which the header below titles is found. */
  isColumn(cell: string): boolean;
  /** The sheet of a workbook; null: the only one with data. */
  readonly sheet: string | null;
  /**
   * Returns the format of a file with this header; null for a strict file, which is read as it is. Throws UNREADABLE for a header
   * that the format does not have.
   */
  formatFor(header: readonly string[]): FileFormat | null;
  /** For a proposal: receives the cell that names a total, whose row is left out. Changes need no confirmation then. */
  foundTotal?(header: string, text: string): void;
  /** For a proposal: reports whether the only value of a row is a note. The row is then left out. */
  isNote?(header: string, text: string): boolean;
  /** For a proposal: reports whether a value shows that a row is of a dependent. The row is then left out. */
  isDependent?(header: string, text: string): boolean;
  /** For a proposal: receives each row that is read. */
  noteRow?(cells: readonly string[]): void;
  /** For a proposal: reports whether a value leaves its row out. */
  isOutside?(field: string, header: string, value: string): boolean;
};

/** Why a proposal leaves rows out. */
export const LEFT_OUT = {
  total: 'Totals',
  note: 'Notes',
  dependent: 'Dependents',
  outside: 'Codes outside the integration',
} as const;

type Reading = { kind: FileKind; find: FormatFinder; today: string };

export type FileReader = {
  /** Yields the rows as of a strict file. */
  records(content: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord>;
  /** What is changed, counted while the rows are read. */
  readonly repairs: Repairs;
};

/** Returns the reader of one file. */
export function fileReader(reading: Reading): FileReader {
  const repairs: Repairs = {
    ...{ form: null, header_line: null, rows: 0, left_out: [], changes: [], isRefused: false },
  };
  return {
    async *records(content) {
      let merged = null as Merged | null;
      const rows = fileRows(content, {
        ...reading.find,
        form: (form) => {
          repairs.form = form;
        },
        merged: (cells) => {
          merged = cells;
        },
      });
      try {
        yield* repairedRecords(rows, reading, repairs);
      } catch (error) {
        // A format may name the sheet that was not found.
        if (repairs.form === null && isAppError(error, 'UNREADABLE')) repairs.isRefused = true;
        throw error;
      }
      if (merged !== null && merged.from > (repairs.header_line ?? 0))
        throw unreadable(
          '',
          `has merged cells, of which only the first has a value: unmerge ${merged.cells}`,
        );
    },
    repairs,
  };
}

/** Returns a reader that reads the rest of a file when it ends: a caller that stops early has no further changes else. */
export function wholeFileReader(reading: Reading): FileReader & { readRest(): Promise<void> } {
  const { records, repairs } = fileReader(reading);
  let source: AsyncGenerator<CsvRecord> | null = null;
  return {
    async *records(content) {
      source = records(content);
      // Not `for await`, which would end the source.
      for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
    },
    async readRest() {
      for (let next = await source?.next(); next?.done === false; ) next = await source?.next();
    },
    repairs,
  };
}

/** Returns the finder of a stored format. */
export function storedFormat(format: FileFormat, kind: FileKind): FormatFinder {
  const known = new Set(format.columns.map(({ header }) => headerKey(header)));
  return {
    isColumn: (cell) => known.has(headerKey(cell)) || kind.isName(cell),
    sheet: format.sheet ?? null,
    formatFor(header) {
      const keys = header.map(headerKey);
      const problems = header.flatMap((cell, index): Problem[] => {
        if (cell === '' || known.has(keys[index] as string)) return [];
        const rule = 'is not in the file format: propose a format of this file, and confirm it';
        return [{ path: `column ${index + 1}`, rule, hint: `its name is "${cell}"` }];
      });
      const needed = new Set(format.leave_out.map((rule) => headerKey(rule.header)));
      for (const { header: name, field } of format.columns) {
        const times = keys.filter((key) => key === headerKey(name)).length;
        if (times === 1 || (field === null && !needed.has(headerKey(name)))) continue;
        const rule = times === 0 ? 'is missing from the header of the file' : 'is a duplicate column';
        problems.push({ path: name, rule });
      }
      if (problems.length === 0) return format;
      if (header.every((name) => name === '' || kind.isName(name))) return null;
      throw unreadableFor(problems);
    },
  };
}

/**
 * Yields the rows of a file as of a strict CSV, first a header of fields. `repairs` counts the changes while rows are read.
 * Throws UNREADABLE, after the last row, for changes by rules that the format does not confirm.
 */
async function* repairedRecords(
  rows: AsyncIterable<WorkbookRow>,
  reading: Reading,
  repairs: Repairs,
): AsyncGenerator<CsvRecord> {
  const { find } = reading;
  let plan = null as Plan | null;
  let above: WorkbookRow[] = [];
  const begin = (row: WorkbookRow): Plan => {
    try {
      return planOf(row, reading, repairs);
    } catch (error) {
      repairs.isRefused = true;
      throw error;
    }
  };
  const columnsIn = ({ record }: WorkbookRow) => record.filter(find.isColumn).length;
  /** Begins with a row as the header. Rows below it may have been read already. */
  const startAt = function* (at: number): Generator<CsvRecord> {
    const row = above[at] as WorkbookRow;
    withoutBlanks(row.record, 0);
    const begun = begin(row);
    plan = begun;
    repairs.header_line = row.line;
    yield { cells: begun.fields, line: row.line, broken: null, idProblems: [] };
    const below = above.slice(at + 1);
    above = [];
    for (const later of below) withoutBlanks(later.record, begun.header.names.length);
    yield* below.flatMap((later) => begun.read(later) ?? []);
  };
  /** Returns the first row with the most names. */
  const likeliest = () => {
    const counts = above.map(columnsIn);
    return counts.indexOf(Math.max(...counts));
  };
  for await (const row of rows) {
    if (!withoutBlanks(row.record, plan?.header.names.length ?? Number.MAX_SAFE_INTEGER)) continue;
    if (plan === null) {
      const last = above.at(-1);
      above.push(row);
      // A row with names of groups may be above the header.
      const isFound = last !== undefined && columnsIn(last) > 1;
      if (isFound || above.length === ROWS_ABOVE_HEADER) yield* startAt(likeliest());
      continue;
    }
    const record = plan.read(row);
    if (record !== null) yield record;
  }
  if (plan === null && above.length > 0) yield* startAt(likeliest());
  if (plan === null) throw unreadableFor([{ path: '', rule: 'is empty: a file begins with a header' }]);
  const unconfirmed = repairs.changes.filter(({ confirmed }) => !confirmed);
  if (find.foundTotal !== undefined || unconfirmed.length === 0) return;
  repairs.isRefused = true;
  throw unreadableFor(unconfirmed.map(unconfirmedProblem));
}

function unconfirmedProblem({ field, header, rule, cells, examples }: RepairChange): Problem {
  const many = cells === 1 ? '1 value' : `${cells} values`;
  const first = `the first is at line ${examples[0]?.line}`;
  return {
    path: field,
    rule: `has ${many} in the column "${header}" that the rule ${rule} would change, which the file format does not confirm: ${first}. Check them and confirm the rule, or correct them`,
  };
}

type Plan = {
  readonly header: HeaderRow;
  readonly fields: string[];
  /** Returns null for a row that is left out. */
  read(row: WorkbookRow): CsvRecord | null;
};

function planOf({ record, broken: inHeader }: WorkbookRow, reading: Reading, repairs: Repairs): Plan {
  const { find } = reading;
  const header = headerRow(record.map(bareOf));
  for (const rule of inHeader?.values() ?? []) throw unreadable('the header', rule);
  const format = find.formatFor(header.names);
  if (format === null) {
    const named = header.names.map((field, index) => ({ field, index }));
    const read = (row: WorkbookRow): CsvRecord => {
      repairs.rows += 1;
      const record = recordOf(row, header);
      return { ...record, broken: record.broken ?? brokenCell(row, named) };
    };
    return { header, fields: [...header.names], read };
  }
  const keys = header.names.map(headerKey);
  const columns = format.columns.flatMap(({ header: name, field, rules }) => {
    if (field === null) return [];
    const read = columnReader({ header: name, field, rules }, reading, repairs);
    return [{ field, index: keys.indexOf(headerKey(name)), read }];
  });
  const constants = Object.entries(format.constants);
  const isLeftOut = leavingOut(format, keys, repairs);
  const isHeaderAgain = headerAgain(record, repairs);
  const fields = [...columns.map(({ field }) => field), ...constants.map(([field]) => field)];
  const rateProblem = rateChecker(columns, header.names, fields);
  type Column = (typeof columns)[number];
  /** Returns why a row is of no employee, or null. */
  const otherRow = (cells: readonly string[]): keyof typeof LEFT_OUT | null => {
    if (find.isNote === undefined || find.isDependent === undefined) return null;
    const [at = 0, another] = cells.flatMap((cell, index) => (cell.trim() === '' ? [] : [index]));
    if (another === undefined) return find.isNote(header.names[at] ?? '', cells[at] ?? '') ? 'note' : null;
    const isDependent = header.names.some((name, index) => find.isDependent?.(name, cells[index] ?? ''));
    return isDependent ? 'dependent' : null;
  };
  const leftOut = (why: keyof typeof LEFT_OUT): null => {
    const reason = LEFT_OUT[why];
    const counted = repairs.left_out.find((entry) => entry.reason === reason);
    if (counted === undefined) repairs.left_out.push({ reason, rows: 1 });
    else counted.rows += 1;
    return null;
  };
  const isOutside = ({ field, index }: Column, cells: readonly string[]): boolean =>
    find.isOutside?.(field, header.names[index] as string, cells[index] ?? '') === true;

  return {
    header,
    fields,
    read(row) {
      const { line, record: cells } = row;
      if (isLeftOut(cells) || isHeaderAgain(cells)) return null;
      if (find.foundTotal !== undefined && isTotal(cells, keys.length)) {
        const index = cells.findIndex((cell) => totalIn(cell) !== null);
        find.foundTotal(header.names[index] ?? '', cells[index] as string);
        return leftOut('total');
      }
      const reason = otherRow(cells);
      if (reason !== null) return leftOut(reason);
      const broken = brokenRow(cells, header, TOTAL_RULE) ?? brokenCell(row, columns);
      if (broken === null && columns.some((column) => isOutside(column, cells))) return leftOut('outside');
      repairs.rows += 1;
      find.noteRow?.(cells);
      if (broken !== null) return { cells: [], line, broken, idProblems: [] };
      const texts = columns.map(({ index, read }) => read(cells[index] ?? '', line));
      const idProblems = columns.flatMap(({ field }, at) =>
        DIGIT_FIELDS.has(field) && SHORTENED.test(texts[at] as string)
          ? [{ path: field, rule: SHORTENED_RULE }]
          : [],
      );
      const values = columns.map(({ field }, at) => {
        const text = texts[at] as string;
        if (field !== 'employee_id' || format.id_prefix === null) return text;
        return withPrefix(format.id_prefix, asWritten(text));
      });
      const all = [...values, ...constants.map(([, value]) => value)];
      return { cells: all, line, broken: rateProblem(cells, all), idProblems };
    },
  };
}

/** Returns the problem of the first cell without a value in a column that is read. */
function brokenCell(
  { broken }: WorkbookRow,
  columns: readonly { field: string; index: number }[],
): Problem | null {
  const column = broken && columns.find(({ index }) => broken.has(index));
  return column ? { path: column.field, rule: broken.get(column.index) as string } : null;
}

type ReadColumn = { header: string; field: string; rules: readonly RepairRule[] };

/** Returns a function that repairs a column's cells and counts the changes. */
function columnReader({ header, field, rules }: ReadColumn, { kind, today }: Reading, repairs: Repairs) {
  const is1904 = repairs.form !== null && 'is1904' in repairs.form && repairs.form.is1904;
  const repair = cellRepair(kind, field, { today, is1904 });
  const changes = new Map<RepairRule, RepairChange>();
  const note = (rule: RepairRule, example: RepairExample): void => {
    let change = changes.get(rule);
    if (change === undefined) {
      change = { field, header, rule, cells: 0, confirmed: rules.includes(rule), examples: [] };
      changes.set(rule, change);
      repairs.changes.push(change);
    }
    change.cells += 1;
    if (change.examples.length < EXAMPLES_MAX) change.examples.push(example);
  };
  return (cell: string, line: number): string => {
    if (cell === '') return '';
    const { value, rule } = repair(cell);
    if (rule !== null) note(rule, { line, before: cell, after: value });
    return value;
  };
}

/** Fields whose digits are lost if a spreadsheet shows them as `1.23E+07`. */
const DIGIT_FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'employee_id', 'ssn', 'phone_number', 'address.zip_code'],
]);
const SHORTENED = /^\d(?:\.\d+)?E\+\d+$/i;
const SHORTENED_RULE =
  'is a number that a spreadsheet shortened: format its column as text, and export the file again';

const TOTAL_RULE = 'looks like a total: delete the row, or leave it out in the file format';

/** Returns whether a row is the header, which reports repeat on every page, and counts it. */
function headerAgain(names: readonly string[], { left_out }: Repairs) {
  const counted = { reason: 'The header again', rows: 0 };
  return (cells: readonly string[]): boolean => {
    if (!cells.every((cell, index) => cell === names[index])) return false;
    if (counted.rows === 0) left_out.push(counted);
    counted.rows += 1;
    return true;
  };
}

/** Returns whether the format leaves a row out, and counts it. */
function leavingOut({ leave_out }: FileFormat, keys: readonly string[], repairs: Repairs) {
  const rules = leave_out.map(({ header, values, reason }) => {
    const counted = { reason, rows: 0 };
    repairs.left_out.push(counted);
    const words = values.map((value) => headerKey(value));
    const isMatch = (cell: string) =>
      words.some((word) => (word.endsWith('*') ? cell.startsWith(word.slice(0, -1)) : cell === word));
    return { index: keys.indexOf(headerKey(header)), isMatch, counted };
  });
  return (cells: readonly string[]): boolean => {
    const rule = rules.find(({ index, isMatch }) => isMatch(headerKey(cells[index] ?? '')));
    if (rule !== undefined) rule.counted.rows += 1;
    return rule !== undefined;
  };
}
