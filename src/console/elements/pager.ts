/** Going on in a list: links, so that a page can be kept and shared. */
import { type Html, html } from '../html.ts';

export type Query = Readonly<Record<string, string | undefined>>;

/** Rows of a page of a list: what a person looks through, and quick to make. */
export const PAGE_ROWS = 50;

/** A path with what is given of a query; what is undefined or empty is left out. */
export function address(path: string, query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given as [string, string][])}`;
}

/**
 * Links to the first and the next page of the list at `path`. `query` is what the page was asked with, its filters and
 * its `cursor`; `next` is the API's `next_cursor`. Null when there is but one page.
 */
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
