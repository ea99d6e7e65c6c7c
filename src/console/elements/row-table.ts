/** A list that is edited as a table: a row for each, with a place for what is wrong with it. */
import { type Html, html } from '../html.ts';
import type { FieldProblem } from './field.ts';
import type { Place } from './problem-summary.ts';
import { type Focus, inputName, ROWS_SHOWN, type Row, type RowColumn, shownName } from './row-form.ts';

/** Where a problem of a row, or of one of its fields, stands. */
export function placeOfRow(index: number, name: string | null, columns: readonly RowColumn[]): Place {
  if (name === null) return { id: `row-${index}`, label: `Row ${index + 1}` };
  const title = columns.find((column) => column.name === name)?.title ?? name;
  return { id: inputName(index, name), label: `Row ${index + 1}, ${title}` };
}

/** The table with its inputs, and its buttons; `focus`: where one goes on. */
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
  /** Of a row, or of one of its fields. */
  problems: (index: number, name: string | null) => readonly FieldProblem[];
  focus?: Focus | undefined;
}): Html {
  const isAt = (on: 'field' | 'remove', index: number) =>
    focus !== undefined && focus.on !== 'add' && focus.on === on && focus.row === index;
  return html`
    <div>
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
                    <input type="hidden" name=${shownName(index)} value="yes" />
                    ${index + 1}${said(problems(index, null), `row-${index}-problem`)}
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
        <p class="hint" id="pasted-hint">${`A row on each line, its cells in the order of the table: ${columns.map(({ title }) => title.toLowerCase()).join(', ')}. Tabs, commas or semicolons between them.`}</p>
        <button type="submit" class="quiet" name="do" value="paste">Add these rows</button>
      </details>
    </div>
  `;
}

/** What the return key presses: the first button of a form, which must not be one that removes a row. */
export function returnSaves(): Html {
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
  return html`<div>${input}${said(problems, `${id}-problem`)}</div>`;
}

function said(problems: readonly FieldProblem[], id: string): Html | null {
  if (problems.length === 0) return null;
  return html`<p class="field-problem" id=${id}>${problems.map(({ rule }) => rule).join('; ')}</p>`;
}

/** What is wrong, by the id of the element beside which it is said: looked up for each field of a long list. */
export function byPlace(
  problems: readonly FieldProblem[],
  placeOf: (path: string) => Place | null,
): (id: string) => readonly FieldProblem[] {
  const placed = Map.groupBy(problems, ({ path }) => placeOf(path)?.id ?? null);
  return (id) => placed.get(id) ?? [];
}
