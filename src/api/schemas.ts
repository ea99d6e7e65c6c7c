/** Schemas that several routes share. */
import Type, { type TSchema } from 'typebox';
import {
  boolean,
  closed,
  component,
  identifier,
  nullableText,
  reasonField,
  text,
} from '../contract/fields.ts';
import { toInstant } from '../contract/instant.ts';
import { LIMIT_DEFAULT } from '../formats/cursor.ts';
import { type Columns, type OpenRows, ROW_TYPES } from '../formats/rows.ts';

/** A page with this many deductions is about 500 KB and takes a few tens of milliseconds to read. */
const LIMIT_MAX = 1_000;

export const limit = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: LIMIT_MAX,
    default: LIMIT_DEFAULT,
    rule: `must be a whole number from 1 to ${LIMIT_MAX}`,
    description: 'The maximum number of rows on a page.',
  }),
);

export const cursor = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 4_096,
    description: 'The `next_cursor` of the previous page. Keep the other parameters the same.',
  }),
);

export const flag = (description: string) =>
  Type.Optional(Type.Boolean({ rule: 'must be true or false', description }));

/** The bytes of a file. */
export const BINARY = Type.String({ format: 'binary' });

export const idFilter = (description: string) => Type.Optional({ ...identifier, description });

/** The id of a resource that the sidecar names itself. */
export const ownId = Type.String({ minLength: 1, maxLength: 255 });

/** The parameter of paths with an employer. */
export const EmployerId = closed({
  employer_id: { ...identifier, description: 'The employer ID that payroll and the benefits service share.' },
});

/** The same of an employer that may begin: the address to which its census is uploaded contains the ID. */
export const NewEmployerId = closed({
  employer_id: {
    ...EmployerId.properties.employer_id,
    pattern: '^(?!\\.{1,2}$)',
    rule: 'must have 1 to 255 characters, and must not be . or .., which no URL can contain',
  },
});

/** Returns the schema of an optional instant in a request. The handler gets it as the columns store it. */
export const instant = (description: string) =>
  Type.Optional(
    Type.String({
      format: 'instant',
      rule: 'must be a date and time such as 2026-01-31T09:30:00Z; a + in a query is written %2B',
      description,
    }),
  );

/** Returns a checked instant as the columns store it: in UTC, cut to milliseconds. */
export function toMilliseconds(given: string): string {
  return `${(toInstant(given) as string).slice(0, 23)}Z`;
}

/** The body of a dismissal. */
export const Dismissal = component('DismissalRequest', {
  reason: reasonField('The reason for the dismissal. It is stored with what is dismissed.'),
});

/** A page of a list, named after its rows. */
export const pageOf = <const S extends TSchema>(row: S) =>
  component(
    `${(row as { component?: string }).component}List`,
    {
      data: Type.Array(row),
      has_more: boolean('Whether more rows follow this page.'),
      next_cursor: nullableText('Pass it as `cursor` to get the next page. Null on the last page.'),
    },
    'A page of a list.',
  );

/** Returns the schema of a page of a list that is also offered as files. */
export function withFiles(page: TSchema) {
  const { properties } = page as unknown as ReturnType<typeof pageOf>;
  const { component } = properties.data.items as { component?: string };
  return Type.Unsafe<unknown>({
    description: 'The rows.',
    content: {
      [ROW_TYPES.json]: { schema: page },
      [ROW_TYPES.csv]: { schema: text('A header, then one line per row.') },
      [ROW_TYPES.ndjson]: { schema: text(`\`${component}\` on each line.`) },
    },
  });
}

/** The description of a list that is also offered as files. */
export const FILES_OF_LIST =
  '`Accept` selects JSON in pages, or all rows as `text/csv` or `application/x-ndjson`.';

/** Returns the schema of a body that is a file of rows: as JSON, CSV or newline-delimited JSON. */
export function fileOf(json: TSchema) {
  return Type.Unsafe<OpenRows>({
    content: {
      [ROW_TYPES.json]: { schema: json },
      [ROW_TYPES.csv]: { schema: Type.String() },
      [ROW_TYPES.ndjson]: { schema: Type.String() },
    },
  });
}

/** An operation whose body is a file of rows. */
export type WithRows = { readonly rows?: Columns; readonly body?: unknown };
type Described = { readonly description?: string };
type RowSchema = Described & { readonly properties?: Readonly<Record<string, Described>> };

/** Returns the descriptions of a row and of each column of an operation's file. */
export function describeRows({ rows, body }: WithRows) {
  const { list, required, optional } = rows as Columns;
  const { content } = body as ReturnType<typeof fileOf> & { content: Record<string, { schema: TSchema }> };
  const file = content[ROW_TYPES.json]?.schema as { properties?: Record<string, { items: RowSchema }> };
  const { description = '', properties = {} } = file.properties?.[list]?.items ?? {};
  const columns = [...required, ...optional].map((name): [name: string, description: string] => {
    const text = properties[name]?.description ?? '';
    return [name, required.includes(name) ? `${text} Required.` : text];
  });
  return { description, columns };
}

/** The response of an operation that returns a tar archive. */
export const ARCHIVE = Type.Unsafe<unknown>({
  description: 'The archive.',
  content: { 'application/x-tar': { schema: Type.String({ format: 'binary' }) } },
});
