/**
 * Edits a list as a table. Adding or removing a row posts the form, so the browser keeps no state. The form carries a
 * hash of the list it was loaded from, because saving replaces the whole list.
 */
import { createHash } from 'node:crypto';
import type { ProblemDetails, Refusal } from '../../api/problem.ts';
import { AppError } from '../../errors.ts';
import { type Content, type Html, html } from '../html.ts';
import {
  type Choice,
  type FieldProblem,
  hiddenFields,
  optionsOf,
  type Place,
  problemSummary,
} from './fields.ts';
import { count } from './format.ts';
import type { Query } from './links.ts';

export type Row = Readonly<Record<string, string>>;
export type RowColumn = {
  readonly name: string;
  readonly title: string;
  readonly kind: 'text' | 'date' | 'select';
  readonly choices?: readonly Choice[];
};
export type RowList = {
  /** The id of the form. */
  readonly id: string;
  /** The path that the form posts to. */
  readonly path: string;
  /** The name of the rows: `payroll codes`. */
  readonly rows: string;
  /** The name of the list in messages: `payroll codes`, `pay schedule`. */
  readonly what: string;
  readonly explanation: string;
  readonly columns: readonly RowColumn[];
  /** The API's limit. */
  readonly max: number;
};
/** Where the focus goes after a button was pressed. */
type Focus = { readonly on: 'field' | 'remove'; readonly row: number } | { readonly on: 'add' };
type Form = Readonly<Record<string, string>>;

/** Separators of spreadsheets and CSV files. */
const BETWEEN_CELLS = /\t|,|;/;
/** The hidden field with the number of rows shown. Each row has a hidden field too, so a truncated form is noticed. */
const ROWS_SHOWN = 'rows-shown';
const SHOWN = 'shown';

/** The action of the button that was pressed: `save` the rows, `drop` the list, or `show` the form with other rows. */
export type Command =
  | { readonly do: 'save' | 'drop'; readonly rows: readonly Row[] }
  | { readonly do: 'show'; readonly rows: readonly Row[]; readonly focus: Focus };

/** Throws when rows are missing from the form: saving would delete them. */
export function commandOf(form: Form, list: RowList): Command {
  const [, removed] = /^remove-(\d+)$/.exec(form.do ?? '') ?? [];
  const numbered = numberedRows(form, list);
  if (removed !== undefined) {
    const next = [...numbered.keys()].filter((number) => number < Number(removed)).length;
    numbered.delete(Number(removed));
    const rows = [...numbered.values()];
    return { do: 'show', rows, focus: next < rows.length ? { on: 'remove', row: next } : { on: 'add' } };
  }
  const known = [...numbered.values()];
  // Rows that were pasted but not added yet are shown first: a save must not lose them.
  const isPasted = form.do === 'paste' || (form.do !== 'drop' && (form.pasted ?? '').trim() !== '');
  if (form.do === 'add' || isPasted) {
    const added = form.do === 'add' ? [{}] : pasted(form.pasted ?? '', list);
    const rows = bounded([...known, ...added], list);
    return {
      do: 'show',
      rows,
      focus: added.length === 0 ? { on: 'add' } : { on: 'field', row: known.length },
    };
  }
  const came = numbersOf(form).filter((number) => form[inputName(number, SHOWN)] !== undefined);
  if (form[ROWS_SHOWN] !== String(came.length)) {
    throw new AppError(
      'INVALID_REQUEST',
      `Nothing was saved: the form arrived without all of its ${list.rows}. Reload the page and try again.`,
    );
  }
  return { do: form.do === 'drop' ? 'drop' : 'save', rows: known };
}

/** Returns the rows of a form by their number, without empty ones. */
function numberedRows(form: Form, list: RowList): Map<number, Row> {
  const rows = bounded(numbersOf(form), list)
    .sort((one, other) => one - other)
    .map((number) => {
      const cells = list.columns.map(({ name }) => [name, form[inputName(number, name)] ?? ''] as const);
      return [number, filled(cells)] as const;
    });
  return new Map(rows.filter(([, row]) => Object.keys(row).length > 0));
}

function numbersOf(form: Form): number[] {
  const numbers = Object.keys(form).flatMap((name) => /^row-(\d+)-/.exec(name)?.[1] ?? []);
  return [...new Set(numbers.map(Number))];
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
export function placeOfRow(index: number, name: string | undefined, { columns }: RowList): Place {
  if (name === undefined) return { id: `row-${index}`, label: `Row ${index + 1}` };
  const title = columns.find((column) => column.name === name)?.title ?? name;
  return { id: inputName(index, name), label: `Row ${index + 1}, ${title}` };
}

export type Edited = {
  readonly rows: readonly Row[];
  /** The hash of the list that the form was loaded from. */
  readonly loaded: string;
  readonly focus?: Focus;
  readonly problem?: ProblemDetails;
  /** The list by now, if another user saved it in the meantime. */
  readonly current?: Content;
};
type Around = {
  readonly hidden: Query;
  readonly back: string;
  placeOf(path: string): Place | null;
  /** Fields above the table. `wrong` returns the problems of a field. */
  fields?(wrong: (id: string) => readonly FieldProblem[]): Html;
  readonly more?: Content;
};

/** Renders the form. The return key presses its first button, so a hidden one that saves comes first. */
export function editor(list: RowList, edited: Edited, around: Around): Html {
  const { id, path, what, explanation } = list;
  const { loaded, problem, current } = edited;
  const { hidden, back, placeOf, fields, more } = around;
  // Long lists look up the problems of every field.
  const placed = Map.groupBy(problem?.errors ?? [], (error) => placeOf(error.path)?.id);
  const wrong = (at: string) => (placed.get(at) ?? []).map(({ rule }) => ({ path: at, rule }));
  return html`
    <form id=${id} novalidate hx-post=${path} hx-target="this" hx-swap="outerHTML">
      <button type="submit" class="hidden-label" name="do" value="save" tabindex="-1" aria-hidden="true">Save</button>
      ${problem !== undefined && problemSummary(problem, placeOf)}
      ${current !== undefined && changedMeanwhile(what, current)}
      <p>${explanation}</p>
      ${hiddenFields({ ...hidden, loaded })}
      ${fields?.(wrong)}
      ${rowTable(list, edited, wrong)}
      <div class="actions">
        <button type="submit" name="do" value="save">${`Save ${what}`}</button>
        <a class="button quiet" href=${back}>Back</a>
        ${more}
      </div>
    </form>
  `;
}

function rowTable(
  { rows: name, columns }: RowList,
  { rows, focus }: Edited,
  wrong: (id: string) => readonly FieldProblem[],
): Html {
  const caption = name.charAt(0).toUpperCase() + name.slice(1);
  const isAt = (on: 'field' | 'remove', index: number) =>
    (focus?.on === on && focus.row === index) || undefined;
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
                  ${index + 1}${problemsOf(wrong(`row-${index}`), `row-${index}-problem`)}
                </th>
                ${columns.map((column, at) => html`<td>${cell(column, index, row, wrong(inputName(index, column.name)), at === 0 && isAt('field', index))}</td>`)}
                <td><button type="submit" class="quiet" name="do" value=${`remove-${index}`} aria-label=${`Remove row ${index + 1}`} autofocus=${isAt('remove', index)}>Remove</button></td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    <div class="actions">
      <button type="submit" class="quiet" name="do" value="add" autofocus=${focus?.on === 'add' || undefined}>Add a row</button>
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

function cell(
  { name, title, kind, choices = [] }: RowColumn,
  index: number,
  row: Row,
  problems: readonly FieldProblem[],
  autofocus: boolean | undefined,
): Html {
  const id = inputName(index, name);
  const value = row[name] ?? '';
  const isKnown = choices.some((choice) => choice.value === value);
  const isWrong = problems.length > 0;
  const attributes = {
    id,
    name: id,
    'aria-label': `${title}, row ${index + 1}`,
    'aria-invalid': isWrong ? 'true' : undefined,
    'aria-describedby': isWrong ? `${id}-problem` : undefined,
    autofocus: autofocus || undefined,
  };
  const input =
    kind === 'select'
      ? html`<select ...${attributes}>${optionsOf(isKnown ? choices : [...choices, { value, label: value }], value)}</select>`
      : html`<input type="text" size=${kind === 'date' ? 10 : 16} value=${value} placeholder=${kind === 'date' ? 'YYYY-MM-DD' : undefined} autocomplete="off" ...${attributes} />`;
  return html`<div>${input}${problemsOf(problems, `${id}-problem`)}</div>`;
}

function problemsOf(problems: readonly FieldProblem[], id: string): Content {
  const rules = problems.map(({ rule }) => rule).join('; ');
  return rules !== '' && html`<p class="field-problem" id=${id}>${rules}</p>`;
}

/** Returns a hash of a list, to notice later that it changed. */
export function hashOf(list: unknown): string {
  return createHash('sha256').update(JSON.stringify(list)).digest('hex');
}

/** Reports that another user saved the list in the meantime, and shows their version. */
function changedMeanwhile(what: string, current: Content): Html {
  return html`
    <div class="problem" role="alert" tabindex="-1" autofocus>
      <strong>${`Not saved: the ${what} changed since you opened this page`}</strong>
      <p>This is the current version:</p>
      ${current}
      <p>Your changes are below. Saving again replaces the current version with yours.</p>
    </div>
  `;
}
