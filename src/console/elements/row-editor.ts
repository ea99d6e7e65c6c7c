/**
 * Edits a list as a table. Adding or removing a row posts the form, so the browser keeps no state. The form carries a
 * hash of the list it was loaded from, because saving replaces the whole list.
 */
import { createHash } from 'node:crypto';
import type { Refusal } from '../../api/problem.ts';
import { AppError } from '../../errors.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Choice, FieldProblem, Place } from './fields.ts';
import { count } from './format.ts';

export type Row = Readonly<Record<string, string>>;
export type RowColumn = {
  readonly name: string;
  readonly title: string;
  readonly kind: 'text' | 'date' | 'select';
  readonly choices?: readonly Choice[];
};
export type RowList = {
  /** The name of the rows in error messages: `payroll codes`. */
  readonly rows: string;
  readonly columns: readonly RowColumn[];
  /** The API's limit. */
  readonly max: number;
};
/** Where the focus goes after a button was pressed. */
export type Focus = { readonly on: 'field' | 'remove'; readonly row: number } | { readonly on: 'add' };
type Form = Readonly<Record<string, string>>;

/** Separators of spreadsheets and CSV files. */
const BETWEEN_CELLS = /\t|,|;/;
/** The hidden field with the number of rows shown. Each row has a hidden field too, so a truncated form is noticed. */
const ROWS_SHOWN = 'rows-shown';
const SHOWN = 'shown';

/** The button that was pressed: the form's field `do`. */
export type Command =
  | { readonly do: 'save' | 'add' | 'paste' | 'drop' }
  | { readonly do: 'remove'; readonly row: number };

export function commandOf(form: Form): Command {
  const [, row] = /^remove-(\d+)$/.exec(form.do ?? '') ?? [];
  if (row !== undefined) return { do: 'remove', row: Number(row) };
  const command = (['add', 'paste', 'drop'] as const).find((one) => one === form.do);
  // Rows that were pasted but not added yet are shown first: a save must not lose them.
  return { do: command ?? ((form.pasted ?? '').trim() === '' ? 'save' : 'paste') };
}

/** Returns the rows to save, without empty ones. Throws when rows are missing: saving would delete them. */
export function rowsOf(form: Form, list: RowList): Row[] {
  const came = numbersOf(form).filter((number) => form[inputName(number, SHOWN)] !== undefined);
  if (form[ROWS_SHOWN] !== String(came.length)) {
    throw new AppError(
      'INVALID_REQUEST',
      `Nothing was saved: the form arrived without all of its ${list.rows}. Reload the page and try again.`,
    );
  }
  return [...numberedRows(form, list).values()];
}

/** Returns the rows after a button of the table was pressed, and the new focus. */
export function changedRows(form: Form, list: RowList): { rows: Row[]; focus: Focus } {
  const command = commandOf(form);
  const numbered = numberedRows(form, list);
  const known = [...numbered.values()];
  if (command.do === 'remove') {
    const next = [...numbered.keys()].filter((number) => number < command.row).length;
    numbered.delete(command.row);
    const rows = [...numbered.values()];
    return { rows, focus: next < rows.length ? { on: 'remove', row: next } : { on: 'add' } };
  }
  const added = command.do === 'add' ? [{}] : pasted(form.pasted ?? '', list);
  const rows = bounded([...known, ...added], list);
  return { rows, focus: added.length === 0 ? { on: 'add' } : { on: 'field', row: known.length } };
}

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

/** Parses pasted rows. A first line with the column names is a header. */
function pasted(text: string, list: RowList): Row[] {
  const { columns, max } = list;
  const [first] = columns;
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
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

function tooMany(rows: number, { rows: what, max }: RowList): Refusal {
  return new AppError(
    'TOO_LARGE',
    `Nothing was changed: a list has at most ${count(max)} ${what}, and this one would have ${count(rows)}.`,
  );
}

function inputName(index: number, name: string): string {
  return `row-${index}-${name}`;
}

/** Returns the place of a row, or of one of its fields. */
export function placeOfRow(index: number, name: string | null, columns: readonly RowColumn[]): Place {
  if (name === null) return { id: `row-${index}`, label: `Row ${index + 1}` };
  const title = columns.find((column) => column.name === name)?.title ?? name;
  return { id: inputName(index, name), label: `Row ${index + 1}, ${title}` };
}

export function rowTable({
  caption,
  columns,
  rows,
  problems,
  focus,
}: {
  caption: string;
  columns: readonly RowColumn[];
  rows: readonly Row[];
  problems: (index: number, name: string | null) => readonly FieldProblem[];
  focus?: Focus | undefined;
}): Html {
  const isAt = (on: 'field' | 'remove', index: number) =>
    focus !== undefined && focus.on !== 'add' && focus.on === on && focus.row === index;
  return html`
    <input type="hidden" name=${ROWS_SHOWN} value=${rows.length} />
    <div class="scroll" role="region" aria-label=${caption} tabindex="0">
      <table class="edited">
        <caption>${caption}</caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            ${columns.map(({ title }) => html`<th scope="col">${title}</th>`)}
            <th scope="col"><span class="hidden-label">Remove</span></th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row, index) => html`
              <tr id=${`row-${index}`}>
                <th scope="row">
                  <input type="hidden" name=${inputName(index, SHOWN)} value="yes" />
                  ${index + 1}${problemsOf(problems(index, null), `row-${index}-problem`)}
                </th>
                ${columns.map((column, place) => html`<td>${cell(column, index, row, problems(index, column.name), place === 0 && isAt('field', index))}</td>`)}
                <td><button type="submit" class="quiet" name="do" value=${`remove-${index}`} aria-label=${`Remove row ${index + 1}`} autofocus=${isAt('remove', index) ? true : undefined}>Remove</button></td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    <div class="actions">
      <button type="submit" class="quiet" name="do" value="add" autofocus=${focus?.on === 'add' ? true : undefined}>Add a row</button>
    </div>
    <details class="field">
      <summary>Paste rows from a spreadsheet</summary>
      <label for="pasted">Rows to add</label>
      <textarea id="pasted" name="pasted" rows="5" aria-describedby="pasted-hint"></textarea>
      <p class="hint" id="pasted-hint">${`One row per line, with these columns: ${columns.map(({ title }) => title.toLowerCase()).join(', ')}. Separate them by tabs, commas or semicolons.`}</p>
      <button type="submit" class="quiet" name="do" value="paste">Add these rows</button>
    </details>
  `;
}

/** The return key presses a form's first button, which must not remove a row. */
export function saveOnReturn(): Html {
  return html`<button type="submit" class="hidden-label" name="do" value="save" tabindex="-1" aria-hidden="true">Save</button>`;
}

function cell(
  { name, title, kind, choices = [] }: RowColumn,
  index: number,
  row: Row,
  problems: readonly FieldProblem[],
  isFocused: boolean,
): Html {
  const id = inputName(index, name);
  const value = row[name] ?? '';
  const attributes = {
    id,
    name: id,
    'aria-label': `${title}, row ${index + 1}`,
    'aria-invalid': problems.length > 0 ? 'true' : undefined,
    'aria-describedby': problems.length > 0 ? `${id}-problem` : undefined,
    autofocus: isFocused ? true : undefined,
  };
  const input =
    kind === 'select'
      ? html`
          <select ...${attributes}>
            ${choices.map((choice) => html`<option value=${choice.value} selected=${choice.value === value}>${choice.label}</option>`)}
            ${!choices.some((choice) => choice.value === value) && html`<option value=${value} selected>${value}</option>`}
          </select>
        `
      : html`<input type="text" size=${kind === 'date' ? 10 : 16} value=${value} placeholder=${kind === 'date' ? 'YYYY-MM-DD' : undefined} autocomplete="off" ...${attributes} />`;
  return html`<div>${input}${problemsOf(problems, `${id}-problem`)}</div>`;
}

function problemsOf(problems: readonly FieldProblem[], id: string): Html | null {
  if (problems.length === 0) return null;
  return html`<p class="field-problem" id=${id}>${problems.map(({ rule }) => rule).join('; ')}</p>`;
}

/** Indexes problems by element id, because long lists look them up for every field. */
export function byPlace(
  problems: readonly FieldProblem[],
  placeOf: (path: string) => Place | null,
): (id: string) => readonly FieldProblem[] {
  const placed = Map.groupBy(problems, ({ path }) => placeOf(path)?.id ?? null);
  return (id) => placed.get(id) ?? [];
}

/** Returns a hash of a list, to notice later that it changed. */
export function hashOf(list: unknown): string {
  return createHash('sha256').update(JSON.stringify(list)).digest('hex');
}

/** Returns the hash of the list that a form was loaded from. */
export function loadedHash(form: Form): string {
  return form.loaded ?? '';
}

export function loadedField(hash: string): Html {
  return html`<input type="hidden" name="loaded" value=${hash} />`;
}

/** Reports that another user saved the list in the meantime, and shows their version. */
export function changedMeanwhile(what: string, current: Content): Html {
  return html`
    <div class="problem" role="alert" tabindex="-1" autofocus>
      <strong>${`Not saved: ${what} changed since you opened this page`}</strong>
      <p>This is the current version:</p>
      ${current}
      <p>Your changes are below. Saving again replaces the current version with yours.</p>
    </div>
  `;
}
