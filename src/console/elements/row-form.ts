/**
 * A list that is edited as a table: what a form of it says. The form goes to the server for a further row too, so
 * nothing of it is kept in the browser, and it needs no script. Nothing is made of more rows than the API takes: each
 * would be drawn with its fields.
 */
import { Refusal } from '../../api/problem.ts';
import { count } from './facts.ts';
import type { Choice } from './field.ts';

export type Row = Readonly<Record<string, string>>;
export type RowColumn = {
  readonly name: string;
  readonly title: string;
  readonly kind: 'text' | 'date' | 'select';
  readonly choices?: readonly Choice[];
};
/** What is listed: its columns, and as many rows as the API takes. */
export type RowList = {
  /** What the rows are, in the words of a refusal: `payroll codes`. */
  readonly rows: string;
  readonly columns: readonly RowColumn[];
  readonly max: number;
  /** Takes a whole list from a file. */
  readonly command: string;
};
/** Where one goes on after a button was pressed: the first field of a row, its button, or the one that adds a row. */
export type Focus = { readonly on: 'field' | 'remove'; readonly row: number } | { readonly on: 'add' };
type Form = Readonly<Record<string, string>>;

/** What a spreadsheet puts between cells, and what CSVs have. */
const BETWEEN_CELLS = /\t|,|;/;
/** The hidden field that says how many rows were shown; each row that was has one of its own beside its fields. */
export const ROWS_SHOWN = 'rows-shown';
const SHOWN = 'shown';

/** What a press of a button wants: `do` of the form. */
export type Wish =
  | { readonly do: 'save' | 'add' | 'paste' | 'drop' }
  | { readonly do: 'remove'; readonly row: number };

export function wishOf(form: Form): Wish {
  const [, row] = /^remove-(\d+)$/.exec(form.do ?? '') ?? [];
  if (row !== undefined) return { do: 'remove', row: Number(row) };
  const wish = (['add', 'paste', 'drop'] as const).find((one) => one === form.do);
  // What was pasted and not added yet is shown as rows first: a save must not lose it.
  return { do: wish ?? ((form.pasted ?? '').trim() === '' ? 'save' : 'paste') };
}

/**
 * The rows to save, without those in which nothing stands. A list takes the place of the one before, so a form that
 * came without its rows is refused: it would take all away.
 */
export function rowsOf(form: Form, list: RowList): Row[] {
  const came = numbersOf(form).filter((number) => form[inputName(number, SHOWN)] !== undefined);
  if (form[ROWS_SHOWN] !== String(came.length)) {
    throw new Refusal(
      'invalid-request',
      `nothing was saved: the form came without all of its ${list.rows}, load the page again`,
    );
  }
  return [...numberedRows(form, list).values()];
}

/** The rows after a button of the table was pressed, and where one goes on. */
export function changedRows(form: Form, list: RowList): { rows: Row[]; focus: Focus } {
  const wish = wishOf(form);
  const numbered = numberedRows(form, list);
  const known = [...numbered.values()];
  if (wish.do === 'remove') {
    const next = [...numbered.keys()].filter((number) => number < wish.row).length;
    numbered.delete(wish.row);
    const rows = [...numbered.values()];
    return { rows, focus: next < rows.length ? { on: 'remove', row: next } : { on: 'add' } };
  }
  const added = wish.do === 'add' ? [{}] : pasted(form.pasted ?? '', list);
  const rows = bounded([...known, ...added], list);
  return { rows, focus: added.length === 0 ? { on: 'add' } : { on: 'field', row: known.length } };
}

/** By their numbers in the form, in order. */
function numberedRows(form: Form, list: RowList): Map<number, Row> {
  const rows = bounded(numbersOf(form), list)
    .sort((one, other) => one - other)
    .map((number) => [number, rowOf(form, list.columns, number)] as const);
  return new Map(rows.filter(([, row]) => Object.keys(row).length > 0));
}

function numbersOf(form: Form): number[] {
  const numbers = Object.keys(form).flatMap((name) => /^row-(\d+)-/.exec(name)?.[1] ?? []);
  return [...new Set(numbers.map(Number))];
}

function rowOf(form: Form, columns: readonly RowColumn[], number: number): Row {
  return filled(columns.map(({ name }) => [name, form[inputName(number, name)] ?? '']));
}

/** A first line with the names of the columns is no row. */
function pasted(text: string, list: RowList): Row[] {
  const { columns, max } = list;
  const [first] = columns;
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  // The line with the names may be one more.
  if (lines.length > max + 1) throw tooMany(lines.length, list);
  return lines
    .map((line) => line.split(BETWEEN_CELLS, columns.length))
    .map((cells) => cells.map((cell) => cell.trim().replace(/^"(.*)"$/, '$1')))
    .filter((cells) => cells[0] !== first?.name)
    .map((cells) => filled(columns.map(({ name }, index) => [name, cells[index] ?? ''])))
    .filter((row) => Object.keys(row).length > 0);
}

function filled(pairs: readonly (readonly [name: string, value: string])[]): Row {
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, value.trim()] as const).filter(([, value]) => value !== ''),
  );
}

function bounded<T>(rows: T[], list: RowList): T[] {
  if (rows.length > list.max) throw tooMany(rows.length, list);
  return rows;
}

function tooMany(rows: number, { rows: what, max, command }: RowList): Refusal {
  return new Refusal(
    'too-large',
    `an employer has at most ${max} ${what} in a list, and this would be ${count(rows)} rows: nothing was changed. A whole list goes in from a file, by the API or by \`${command}\``,
  );
}

export function inputName(index: number, name: string): string {
  return `row-${index}-${name}`;
}

/** The hidden field of a row that is shown. */
export function shownName(index: number): string {
  return inputName(index, SHOWN);
}
