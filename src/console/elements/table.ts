/** A table that scrolls by itself on a narrow screen, with the keyboard too. */
import { type Content, type Html, html } from '../html.ts';

export type Column<Row> = {
  readonly title: Content;
  readonly cell: (row: Row) => Content;
  /** `name`: what the row is about. `number`: to the right. `date`: never broken. */
  readonly kind?: 'text' | 'name' | 'number' | 'date';
};

/** `caption` names the table; `captionHidden` where a heading above it says the same already. */
export function table<Row>({
  caption,
  captionHidden = false,
  columns,
  rows,
  rowClass,
  rowId,
}: {
  caption: string;
  captionHidden?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowClass?: (row: Row) => string | undefined;
  /** So that a row stays the same one, with what is ticked in it, where the table refreshes itself. */
  rowId?: (row: Row) => string;
}): Html {
  return html`
    <div class="scroll" role="region" aria-label=${caption} tabindex="0">
      <table>
        <caption><span class=${captionHidden ? 'hidden-label' : undefined}>${caption}</span></caption>
        <thead>
          <tr>
            ${columns.map(({ title, kind }) => html`<th scope="col" class=${classOf(kind)}>${title}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map((row) => html`<tr id=${rowId?.(row)} class=${rowClass?.(row)}>${columns.map((column) => cellOf(column, row))}</tr>`)}
        </tbody>
      </table>
    </div>
  `;
}

function cellOf<Row>({ cell, kind }: Column<Row>, row: Row): Html {
  return kind === 'name'
    ? html`<th scope="row">${cell(row)}</th>`
    : html`<td class=${classOf(kind)}>${cell(row)}</td>`;
}

function classOf(kind: Column<unknown>['kind']): string | undefined {
  return kind === 'number' || kind === 'date' ? kind : undefined;
}
