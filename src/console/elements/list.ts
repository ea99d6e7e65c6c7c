/** Lists: their filters, tables and pages. */
import { type Content, type Html, html } from '../html.ts';
import { ANY, type Field, field, hiddenFields } from './fields.ts';
import { count, money } from './format.ts';
import { address, type Query } from './links.ts';

export const PAGE_ROWS = 50;

/** `name`: the row header. `number`: right-aligned. `date`: not wrapped. `wide`: in a stacked table, full width. `small`: an id. */
type Kind = 'name' | 'number' | 'date' | 'wide' | 'small';
export type Column<Row> = readonly [title: Content, cell: (row: Row) => Content, kind?: Kind | undefined];

type Amounts = { readonly member_amount: string; readonly employer_amount: string };
export const EMPLOYER_AMOUNT: Column<Pick<Amounts, 'employer_amount'>> = [
  'Employer amount',
  ({ employer_amount }) => money(employer_amount),
  'number',
];
/** What the employee and the employer pay. */
export const AMOUNT_COLUMNS: readonly Column<Amounts>[] = [
  ['Employee amount', ({ member_amount }) => money(member_amount), 'number'],
  EMPLOYER_AMOUNT,
];

/**
 * Renders a table that scrolls sideways when it is too wide. On a narrow screen each row becomes a block.
 * `captionHidden`: a heading above already names the table. `rowId` keeps what is selected in a row across refreshes.
 */
export function table<Row>(
  rows: readonly Row[],
  options: { caption: string; captionHidden?: boolean; rowId?: (row: Row) => string },
  columns: readonly Column<Row>[],
): Html {
  const { caption, captionHidden = false, rowId } = options;
  return html`
    <div class="scroll stacked" role="region" aria-label=${caption} tabindex="0">
      <table>
        <caption><span class=${captionHidden ? 'hidden-label' : undefined}>${caption}</span></caption>
        <thead>
          <tr>${columns.map(([title, , kind]) => html`<th scope="col" class=${classOf(kind)}>${title}</th>`)}</tr>
        </thead>
        <tbody>
          ${rows.map((row) => html`<tr id=${rowId?.(row)}>${columns.map((column) => cellOf(column, row))}</tr>`)}
        </tbody>
      </table>
    </div>
  `;
}

function cellOf<Row>([title, cell, kind]: Column<Row>, row: Row): Html {
  return kind === 'name'
    ? html`<th scope="row">${cell(row)}</th>`
    : html`<td class=${classOf(kind)} data-title=${typeof title === 'string' ? title : undefined}>${cell(row)}</td>`;
}

function classOf(kind: Kind | undefined): string | undefined {
  return kind === 'name' ? undefined : kind;
}

export function withNote(content: Content, note: Content): Html {
  return html`<span><span>${content}</span><span class="soft under">${note}</span></span>`;
}

export type Filter = Omit<Field, 'value'>;

export const EMPLOYEE_FILTER: Filter = { name: 'employee_id', label: 'Employee' };

/** Returns the parameters of an address that are filters. The API validates their values and names the wrong ones. */
export function filtersIn(query: Query, filters: readonly Filter[]): Readonly<Record<string, string>> {
  const values = filters.map(({ name }) => [name, query[name]] as const);
  return Object.fromEntries(values.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

export function filterFields(query: Query, filters: readonly Filter[]): Html[] {
  return filters.flatMap((filter) => {
    // An employee is found by name, which must be in no address.
    if (filter.name === EMPLOYEE_FILTER.name) return hiddenFields({ [filter.name]: query[filter.name] });
    const none = filter.required ? { value: '', label: '' } : ANY;
    const choices = filter.choices && [none, ...filter.choices];
    return field({ ...filter, value: query[filter.name] ?? '', ...(choices && { choices }) });
  });
}

/** Renders the filters of a list; their values are in the page's address, so a filtered list can be bookmarked. */
export function filterForm(path: string, query: Query, filters: readonly Filter[]): Html {
  const required = filters.filter((filter) => filter.required);
  const kept = { run: query.run, ...filtersIn(query, required) };
  const isFiltered = filters.some(({ name, required }) => !required && query[name] !== undefined);
  return html`
    <form class="fields" method="get" action=${path} role="search" aria-label="Filters">
      ${hiddenFields({ run: query.run })}
      ${filterFields(query, filters)}
      <button type="submit" class="quiet">Show</button>
      ${isFiltered && html`<a class="button quiet" href=${address(path, kept)}>Show all</a>`}
    </form>
  `;
}

/** Links to the first and the next page of the list at `path`; null for a list of one page. `query` has the filters and the cursor. */
export function pager(path: string, query: Query, next: string | null): Html | null {
  const { cursor, ...filters } = query;
  if (cursor === undefined && next === null) return null;
  return html`
    <nav class="pager actions" aria-label="Pages of the list">
      ${cursor !== undefined && html`<a class="button quiet" href=${address(path, filters)}>First page</a>`}
      ${next !== null && html`<a class="button quiet" rel="next" href=${address(path, { ...filters, cursor: next })}>Next page</a>`}
    </nav>
  `;
}

/**
 * Links to the pages of a list of `total` rows, and counts them: `51 to 100 of 213`. `query` has the filters and the page;
 * the links lead to the element `anchor`.
 */
export function numberedPages(list: {
  readonly path: string;
  readonly query: Query;
  readonly total: number;
  readonly anchor: string;
}): Html | null {
  const { path, query, total, anchor } = list;
  if (total === 0) return null;
  const page = Math.max(1, Number(query.page) || 1);
  const pages = Math.ceil(total / PAGE_ROWS);
  const first = (page - 1) * PAGE_ROWS + 1;
  const link = (to: number, label: string, rel: string) =>
    html`<a class="button quiet" rel=${rel} href=${`${address(path, { ...query, page: to === 1 ? undefined : to })}#${anchor}`}>${label}</a>`;
  return html`
    <nav class="pager actions" aria-label="Pages of the list">
      <span class="soft">${`${count(first)} to ${count(Math.min(total, first + PAGE_ROWS - 1))} of ${count(total)}`}</span>
      ${page > 1 && link(page - 1, 'Previous page', 'prev')}
      ${page < pages && link(page + 1, 'Next page', 'next')}
      ${pages > 1 && html`<span class="soft">${`Page ${count(page)} of ${count(pages)}`}</span>`}
    </nav>
  `;
}
