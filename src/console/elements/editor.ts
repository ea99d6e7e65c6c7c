/**
 * Edits a list as a table. Adding or removing a row posts the form, so the browser keeps no state. The form carries a
 * hash of the list it was loaded from, because saving replaces the whole list.
 */
import { createHash } from 'node:crypto';
import { type ProblemDetails, Refusal } from '../../api/problem.ts';
import { isDay } from '../../contract/instant.ts';
import { folded, meantChoice, meantDate } from '../../contract/meant.ts';
import type { Problem } from '../../errors.ts';
import { type Content, type Html, html } from '../html.ts';
import {
  type Choice,
  hiddenFields,
  optionsOf,
  type Place,
  preview,
  problemIn,
  problemSummary,
  ruleText,
} from './fields.ts';
import { capitalized, count, counted, dayText } from './format.ts';
import type { Query } from './links.ts';

type Row = Readonly<Record<string, string | null>>;
export type RowColumn = {
  readonly name: string;
  readonly title: string;
  readonly isDate?: true;
  /** Without choices, the cell is a text field. */
  readonly choices?: readonly Choice[];
};
export type RowList = {
  readonly id: string;
  readonly path: string;
  /** The name of the rows: `payroll codes`. */
  readonly rows: string;
  /** The name of the list in messages: `payroll codes`, `pay schedule`. */
  readonly what: string;
  readonly explanation: string;
  readonly columns: readonly RowColumn[];
  /** The columns that identify a row. */
  readonly key: readonly string[];
  /** A column without which a row does not count. */
  readonly needs?: string;
  readonly max: number;
};
type Shown = {
  readonly rows: readonly Row[];
  /** The number of pasted rows, which are not saved yet. */
  readonly added?: number;
  /** Where the focus goes after a button was pressed: the name of a field, or the value of a button. */
  readonly focus?: string;
};
type Form = Readonly<Record<string, string>>;

const BETWEEN_CELLS = /,|;/;
/** The hidden field with the number of rows shown. Each row has a hidden field too, so a truncated form is noticed. */
const ROWS_SHOWN = 'rows-shown';
const SHOWN = 'shown';

/**
 * Returns the action of the button that was pressed: `save` the rows, `drop` the list, or `show` the form with other
 * rows. Throws when rows are missing from the form: saving would delete them.
 */
export function commandOf(form: Form, list: RowList): Shown & { readonly do: 'save' | 'drop' | 'show' } {
  const [, removed] = /^remove-(\d+)$/.exec(form.do ?? '') ?? [];
  const numbered = numberedRows(form, list);
  if (removed !== undefined) {
    const next = [...numbered.keys()].filter((number) => number < Number(removed)).length;
    numbered.delete(Number(removed));
    return {
      do: 'show',
      rows: [...numbered.values()],
      focus: next < numbered.size ? `remove-${next}` : 'add',
    };
  }
  const known = [...numbered.values()];
  // Rows that were pasted but not added yet are shown first: a save must not lose them.
  const isPasted = form.do === 'paste' || (form.do !== 'drop' && (form.pasted ?? '').trim() !== '');
  if (form.do === 'add' || isPasted) {
    const added = form.do === 'add' ? [{}] : pasted(form.pasted ?? '', list);
    const kept = known.filter((row) => !isFilledBy(added, row, list));
    const rows = bounded([...kept, ...added], list);
    const focus = added.length === 0 ? 'add' : inputName(kept.length, list.columns[0]?.name ?? '');
    return { do: 'show', rows, focus, ...(isPasted && { added: added.length }) };
  }
  const came = numbersOf(form).filter((number) => form[inputName(number, SHOWN)] !== undefined);
  if (form[ROWS_SHOWN] !== String(came.length)) {
    throw new Refusal(
      'INVALID_REQUEST',
      `Nothing was saved: the form arrived without all of its ${list.rows}. Reload the page and try again.`,
    );
  }
  return { do: form.do === 'drop' ? 'drop' : 'save', rows: known };
}

/** Reports whether an added row has every cell of a row that does not count yet, so that it replaces that row. */
function isFilledBy(added: readonly Row[], row: Row, { needs }: RowList): boolean {
  if (needs === undefined || row[needs] !== undefined) return false;
  return added.some((filled) => Object.entries(row).every(([name, value]) => filled[name] === value));
}

/** Returns the rows of a form by their number, without empty ones. */
function numberedRows(form: Form, list: RowList): Map<number, Row> {
  const rows = bounded(numbersOf(form), list)
    .sort((a, b) => a - b)
    .map((number) => {
      return [number, rowOf(list, ({ name }) => form[inputName(number, name)])] as const;
    });
  return new Map(rows.filter(([, row]) => Object.keys(row).length > 0));
}

function numbersOf(form: Form): number[] {
  const numbers = Object.keys(form).flatMap((name) => /^row-(\d+)-/.exec(name)?.[1] ?? []);
  return [...new Set(numbers.map(Number))];
}

/** Parses pasted rows. A first line with the names or titles of the columns is a header. */
function pasted(text: string, list: RowList): Row[] {
  const [first] = list.columns;
  const titles = [first?.name ?? '', first?.title ?? ''].map(folded);
  return text
    .split(/\r?\n/)
    .map((line) => line.split(line.includes('\t') ? '\t' : BETWEEN_CELLS, list.columns.length))
    .map((cells) => cells.map((cell) => cell.trim().replace(/^"(.*)"$/, '$1')))
    .filter(([cell = '']) => !titles.includes(folded(cell)) || cell === '')
    .map((cells) => rowOf(list, (_, index) => cells[index]))
    .filter((row) => Object.keys(row).length > 0);
}

function rowOf({ columns }: RowList, cellOf: (column: RowColumn, index: number) => string | undefined): Row {
  const cells = columns.map((column, index) => {
    const text = (cellOf(column, index) ?? '').trim();
    return [column.name, valueIn(column, text)] as const;
  });
  return Object.fromEntries(cells.filter(([, value]) => value !== ''));
}

/** Returns the value that a text means, such as `1/31/2026` or the label of a choice; any other text unchanged. */
function valueIn({ isDate, choices }: RowColumn, text: string): string {
  if (isDate) return meantDate(text) ?? text;
  if (choices === undefined || text === '') return text;
  const word = folded(text);
  const labeled = choices.find(({ value, label }) => value === text || folded(label) === word);
  const values = choices.map(({ value }) => value);
  return labeled?.value ?? meantChoice(values, text) ?? text;
}

function bounded<T>(rows: T[], { rows: what, max }: RowList): T[] {
  if (rows.length <= max) return rows;
  throw new Refusal(
    'TOO_LARGE',
    `Nothing was changed: a list has at most ${count(max)} ${what}, and this one would have ${count(rows.length)}.`,
  );
}

function inputName(index: number, name: string): string {
  return `row-${index}-${name}`;
}

export function placeOfRow(index: number, name: string | undefined, { columns }: RowList): Place {
  if (name === undefined) return { id: `row-${index}`, label: `Row ${index + 1}` };
  const title = columns.find((column) => column.name === name)?.title ?? name;
  return { id: inputName(index, name), label: `Row ${index + 1}, ${title}` };
}

/** Returns the words that no choice means, and the choices that are missing: they are marked before the list is saved. */
function wrongCellsOf(list: RowList, rows: readonly Row[]): (Problem & { readonly place: Place })[] {
  const { columns, key, needs } = list;
  return rows.flatMap((row, index) => {
    if (needs !== undefined && row[needs] == null) return [];
    return columns.flatMap(({ name, choices }) => {
      const value = row[name] ?? '';
      if (choices === undefined || choices.some((choice) => choice.value === value)) return [];
      if (value === '' && !key.includes(name)) return [];
      const rule = `${value === '' ? 'is required' : 'is unknown'}: choose one`;
      const place = placeOfRow(index, name, list);
      return [{ path: place.id, rule, place }];
    });
  });
}

export type Edited = Shown & {
  /** The hash of the list that the form was loaded from. */
  readonly loaded: string;
  readonly problem?: ProblemDetails;
  /** The list by now, if another user saved it in the meantime. */
  readonly current?: Content;
};
type Around = {
  /** The saved rows, to show what saving changes. */
  readonly saved: readonly Row[];
  readonly hidden: Query;
  readonly back: string;
  placeOf(path: string): Place | null;
  /** Fields above the table. `wrong` returns the problems of a field. */
  fields?(wrong: Wrong): Html;
  readonly more?: Content;
};
type Wrong = (id: string) => readonly Problem[];

/** Renders the form. The return key presses its first button, so a hidden one that saves comes first. */
export function editor(list: RowList, edited: Edited, around: Around): Html {
  const { id, path, what, explanation } = list;
  const { loaded, problem, current, added } = edited;
  const { saved, hidden, back, placeOf, fields, more } = around;
  const wrongCells = wrongCellsOf(list, edited.rows);
  const placesOfCells = new Map(wrongCells.map(({ path: at, place }) => [at, place]));
  const placeIn = (at: string) => placesOfCells.get(at) ?? placeOf(at);
  const details = problem ?? problemIn([]);
  const { errors: reported = [], error_count = reported.length } = details;
  const isMarked = ({ path: at }: Problem) => placesOfCells.has(placeOf(at)?.id ?? '');
  const errors = [...wrongCells, ...reported.filter((error) => !isMarked(error))];
  const unlisted = error_count - reported.length;
  const summarized = { ...details, errors, error_count: errors.length + unlisted };
  // Long lists look up the problems of every field.
  const placed = Map.groupBy(errors, (error) => placeIn(error.path)?.id);
  const wrong: Wrong = (at) => (placed.get(at) ?? []).map(({ rule }) => ({ path: at, rule }));
  const changedMeanwhile = html`
    <div class="problem" role="alert" tabindex="-1" autofocus>
      <strong>${`Not saved: the ${what} changed since you opened this page`}</strong>
      <p>This is the current version:</p>
      ${current}
      <p>Your changes are below. Saving again replaces the current version with yours.</p>
    </div>
  `;
  return html`
    <form id=${id} novalidate hx-post=${path} hx-target="this" hx-swap="outerHTML">
      <button type="submit" class="hidden-label" name="do" value="save" tabindex="-1" aria-hidden="true">Save</button>
      ${(problem !== undefined || errors.length > 0) && problemSummary(summarized, placeIn)}
      ${current !== undefined && changedMeanwhile}
      <p>${explanation}</p>
      ${hiddenFields({ ...hidden, loaded })}
      ${fields?.(wrong)}
      ${added !== undefined && html`<p role="status"><strong>${`${counted(added, 'row')} added below. Nothing is saved yet.`}</strong></p>`}
      ${rowTable(list, edited, wrong)}
      ${preview(id, `${path}/preview`, changesOf(list, saved, edited.rows))}
      <div class="actions">
        <button type="submit" name="do" value="save">${`Save ${what}`}</button>
        <a class="button quiet" href=${back}>Back</a>
        ${more}
      </div>
    </form>
  `;
}

function rowTable({ rows: name, columns }: RowList, shown: Shown, wrong: Wrong): Html {
  const { rows, focus } = shown;
  const caption = capitalized(name);
  const isFocused = (id: string) => focus === id || undefined;
  const rowShown = (_: Row, index: number) => html`
    <tr id=${`row-${index}`}>
      <th scope="row">
        <input type="hidden" name=${inputName(index, SHOWN)} value="yes" />
        ${index + 1}${problemsOf(wrong(`row-${index}`), `row-${index}-problem`)}
      </th>
      ${columns.map((column) => html`<td data-title=${column.title}>${cell(column, index, shown, wrong)}</td>`)}
      <td><button type="submit" class="quiet" name="do" value=${`remove-${index}`} aria-label=${`Remove row ${index + 1}`} autofocus=${isFocused(`remove-${index}`)}>Remove</button></td>
    </tr>
  `;
  return html`
    <input type="hidden" name=${ROWS_SHOWN} value=${rows.length} />
    <div class="scroll stacked" role="region" aria-label=${caption} tabindex="0">
      <table class="edited">
        <caption>${caption}</caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            ${columns.map(({ title }) => html`<th scope="col">${title}</th>`)}
            <th scope="col"><span class="hidden-label">Remove</span></th>
          </tr>
        </thead>
        <tbody>${rows.map(rowShown)}</tbody>
      </table>
    </div>
    <div class="actions">
      <button type="submit" class="quiet" name="do" value="add" autofocus=${isFocused('add')}>Add a row</button>
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

function cell(column: RowColumn, index: number, { rows, focus }: Shown, wrong: Wrong): Html {
  const { name, title, isDate, choices } = column;
  const id = inputName(index, name);
  const value = rows[index]?.[name] ?? '';
  const problems = wrong(id);
  const isWrong = problems.length > 0;
  const attributes = {
    id,
    name: id,
    'aria-label': `${title}, row ${index + 1}`,
    'aria-invalid': isWrong ? 'true' : undefined,
    'aria-describedby': isWrong ? `${id}-problem` : undefined,
    autofocus: focus === id || undefined,
  };
  const input =
    choices !== undefined
      ? html`<select ...${attributes}>${optionsOf(withValue(choices, value), value)}</select>`
      : html`<input type="text" size=${isDate ? 10 : 16} value=${value} placeholder=${isDate ? 'YYYY-MM-DD' : undefined} autocomplete="off" ...${attributes} />`;
  return html`<div>${input}${problemsOf(problems, `${id}-problem`)}</div>`;
}

/** Adds a pasted word that no choice means. */
function withValue(choices: readonly Choice[], value: string): readonly Choice[] {
  return choices.some((choice) => choice.value === value) ? choices : [...choices, { value, label: value }];
}

function problemsOf(problems: readonly Problem[], id: string): Content {
  const rules = problems.map(({ rule }) => ruleText(rule)).join('; ');
  return rules !== '' && html`<p class="field-problem" id=${id}>${rules}</p>`;
}

const CHANGES_SHOWN = 12;

export function changesOf(list: RowList, saved: readonly Row[], rows: readonly Row[]): Html {
  const { columns, key, what } = list;
  // An empty cell means the first choice, which is left out unless it identifies the row.
  const shown = (row: Row, { name, isDate, choices = [] }: RowColumn): string => {
    const value = row[name] ?? '';
    if (value === '' || (value === choices[0]?.value && !key.includes(name))) return '';
    if (isDate && isDay(value)) return dayText(value);
    return choices.find((choice) => choice.value === value)?.label ?? value;
  };
  const keyIn = (row: Row) =>
    JSON.stringify(columns.filter(({ name }) => key.includes(name)).map((column) => shown(row, column)));
  const textOf = (row: Row) =>
    columns
      .map((column) => shown(row, column))
      .filter((text) => text !== '')
      .join(', ');
  const before = new Map(saved.map((row) => [keyIn(row), textOf(row)]));
  const counting = rows.filter((row) =>
    list.needs === undefined ? textOf(row) !== '' : row[list.needs] != null,
  );
  const after = new Map(counting.map((row) => [keyIn(row), textOf(row)]));
  const added = [...after].filter(([id]) => !before.has(id)).map(([, text]) => text);
  const removed = [...before].filter(([id]) => !after.has(id)).map(([, text]) => text);
  const changed = [...after].flatMap(([id, text]) => {
    const was = before.get(id);
    return was === undefined || was === text ? [] : [`${text} (was ${was})`];
  });
  const parts = Object.entries({ Adds: added, Changes: changed, Removes: removed });
  if (parts.every(([, texts]) => texts.length === 0))
    return html`<p class="hint">${`Nothing differs from the saved ${what}.`}</p>`;
  return html`
    <p><strong>${`Saving changes the ${what}`}</strong></p>
    <ul>${parts.map(([verb, texts]) => texts.length > 0 && html`<li>${`${verb} ${count(texts.length)}: ${texts.slice(0, CHANGES_SHOWN).join('; ')}${texts.length > CHANGES_SHOWN ? '; …' : '.'}`}</li>`)}</ul>
  `;
}

/** Returns a hash of a list, to notice later that it changed. */
export function hashOf(list: unknown): string {
  return createHash('sha256').update(JSON.stringify(list)).digest('hex');
}
