/** Lists in pages. A cursor is where a page ended, as opaque text that the next request sends back. */
import { type SelectQueryBuilder, sql } from 'kysely';
import type { Static, TSchema } from 'typebox';
import Type from 'typebox';
import { compile } from '../contract/check.ts';
import { parseJson } from '../contract/json.ts';
import { AppError } from '../errors.ts';

/** A list as the API and the command line return it. */
export type ListPage<Row> = { data: Row[]; has_more: boolean; next_cursor: string | null };

/** Which page of a list a caller requests. */
export type PageRequest = { readonly cursor?: string | undefined; readonly limit?: number | undefined };

/** The page of a list without rows. */
export const EMPTY_PAGE: ListPage<never> = { data: [], has_more: false, next_cursor: null };

/** Rows of a page, unless the caller requests another number. */
export const LIMIT_DEFAULT = 100;

const RULE = 'must be the next_cursor of a page of this list, unchanged';

/** Creates the cursors of one list. Each cursor contains `list`, so that a list rejects the cursors of other lists. */
export function cursorOf<const S extends TSchema>(list: string, position: S) {
  const ofList = compile(Type.Object({ list: Type.Literal(list), at: Type.Unknown() }));
  const ofPosition = compile(position);
  const encode = (at: Static<S>): string => Buffer.from(JSON.stringify({ list, at })).toString('base64url');
  return {
    encode,
    /** Returns a page that `at` continues; null on the last page. */
    page<Row>(data: Row[], at: Static<S> | null): ListPage<Row> {
      return { data, has_more: at !== null, next_cursor: at === null ? null : encode(at) };
    },
    /** Returns the page that `rows` begin with, at most `limit` of them. One row more shows that another page follows. */
    cut<Row>(rows: readonly Row[], limit: number, positionOf: (last: Row) => Static<S>): ListPage<Row> {
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return this.page(rows.slice(0, limit), last === undefined ? null : positionOf(last));
    },
    /** Throws INVALID_REQUEST for a text that this list did not make. */
    decode(text: string | undefined): Static<S> | undefined {
      if (text === undefined) return undefined;
      const parsed = parseJson(Buffer.from(text, 'base64url').toString('utf8'));
      const value = parsed.ok ? parsed.value : undefined;
      if (ofList.accepts(value) && ofPosition.accepts(value.at) && hasSafeNumbers(value.at)) return value.at;
      throw new AppError('INVALID_REQUEST', `cursor: ${RULE}`, {
        problems: [{ path: 'cursor', rule: RULE }],
      });
    },
  };
}

/**
 * Returns a function that reads a page of the list from a query. The query selects `columns`, by which the list is ordered and
 * whose values identify a row. `usual`: the order of the list, unless a page is requested in another one. `read` runs the query.
 */
export function pagesBy(list: string, columns: Readonly<Record<string, TSchema>>, usual: Order = 'asc') {
  const cursors = cursorOf(list, Type.Tuple(Object.values(columns)));
  const names = Object.keys(columns);
  const keys = names.map((name) => sql.ref(name));
  const fields = names.map((name) => name.split('.').at(-1) as string);
  return async <DB, T extends keyof DB, Row extends object, Read extends object = Row>(
    query: SelectQueryBuilder<DB, T, Row>,
    { cursor, limit = LIMIT_DEFAULT, order = usual }: PageRequest & { readonly order?: Order | undefined },
    read = (some: typeof query) => some.execute() as Promise<object[]> as Promise<Read[]>,
  ): Promise<ListPage<Read>> => {
    const after = cursors.decode(cursor) as readonly unknown[] | undefined;
    const beyond = sql.raw(order === 'asc' ? '>' : '<');
    const rest =
      after === undefined
        ? query
        : query.where(sql<boolean>`(${sql.join(keys)}) ${beyond} (${sql.join(after)})`);
    const ordered = keys.reduce((some, key) => some.orderBy(key, order), rest);
    const rows = await read(ordered.limit(limit + 1));
    return cursors.cut(rows, limit, (last) => fields.map((field) => last[field as keyof Read]) as never);
  };
}

type Order = 'asc' | 'desc';

/** Yields the rows of all pages of a list. */
export async function* allPages<Row>(
  read: (cursor: string | undefined) => Promise<ListPage<Row>>,
): AsyncGenerator<Row[]> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await read(cursor);
    yield page.data;
    cursor = page.next_cursor;
  }
}

/** Returns whether a database can hold each number: a forged cursor may contain others. */
function hasSafeNumbers(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(hasSafeNumbers);
}
