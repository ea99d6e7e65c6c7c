/** A table that scrolls by itself where it is too wide, with the keyboard too. */
import { type Content, type Html, html } from '../html.ts';

export type Column<Row> = {
  readonly title: Content;
  readonly cell: (row: Row) => Content;
  /** `name`: what the row is about. `number`: to the right. `date`: never broken. */
  readonly kind?: Kind;
};
/** `wide`: a text that takes a line of its own where rows stand upright. `picture`: left out there. */
type Kind = 'text' | 'name' | 'number' | 'date' | 'wide' | 'picture';

/**
 * `caption` names the table; `captionHidden` where a heading above it says the same already. `stacked`: on a narrow
 * screen each row stands upright, its cells below one another with their titles, for tables whose last columns are what
 * one came for.
 */
export function table<Row>({
  caption,
  captionHidden = false,
  stacked = false,
  columns,
  rows,
  rowClass,
  rowId,
}: {
  caption: string;
  captionHidden?: boolean;
  stacked?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowClass?: (row: Row) => string | undefined;
  /** So that a row stays the same one, with what is ticked in it, where the table refreshes itself. */
  rowId?: (row: Row) => string;
}): Html {
  return html`
    <div class=${stacked ? 'scroll stacked' : 'scroll'} role="region" aria-label=${caption} tabindex="0">
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

function cellOf<Row>({ title, cell, kind }: Column<Row>, row: Row): Html {
  return kind === 'name'
    ? html`<th scope="row">${cell(row)}</th>`
    : html`<td class=${classOf(kind)} data-title=${typeof title === 'string' ? title : undefined}>${cell(row)}</td>`;
}

function classOf(kind: Kind | undefined): string | undefined {
  if (kind === 'picture') return 'pictured';
  return kind === 'text' || kind === 'name' ? undefined : kind;
}
