/** Shared field types: JSON Schema with `rule`, the text of a problem. Lengths count code points. */
import Type, { type Static, type TObject, type TProperties, type TSchema, type TUnsafe } from 'typebox';

/** The contract sets no limit, but PostgreSQL limits an index row to about 2,700 bytes, and these take up to 1,020. */
export const ID_MAX_CHARACTERS = 255;

/** An id of an employee, employer or deduction: any text, compared by byte. */
export const identifier = Type.String({ minLength: 1, maxLength: ID_MAX_CHARACTERS });

/**
 * Returns an id as an encoded path segment, or null if it cannot be one: `.` and `..` change the path even when encoded
 * (RFC 3986, 6.2.2), and a lone surrogate has no UTF-8.
 */
export function pathSegment(text: string): string | null {
  if (text === '' || text === '.' || text === '..' || !text.isWellFormed()) return null;
  return encodeURIComponent(text);
}

export const day = Type.String({ format: 'date', rule: 'must be a real date, YYYY-MM-DD' });

/** The format alone allows a domain without a dot and a quoted name, to which no service can write. */
export const email = Type.String({
  format: 'email',
  pattern: '^[^@"\\s]+@[^@\\s]+\\.[^@\\s.]+$',
  rule: 'must be one e-mail address such as name@example.org, without accents or a dot before the @',
});

// The schemas of values in a response.
export const text = (description: string) => Type.String({ description });
export const nullableText = (description: string) => nullable(text(description));
export const integer = (description: string) => Type.Integer({ description });
export const boolean = (description: string) => Type.Boolean({ description });

export function oneOf<const Values extends readonly string[]>(
  values: Values,
  rule?: string,
): TUnsafe<Values[number]> {
  return Type.Unsafe({ type: 'string', enum: values, ...(rule && { rule }) });
}

export function oneOfDescribed<const Values extends readonly string[]>(values: Values, description: string) {
  return { ...oneOf(values), description };
}

/** Returns a schema that also accepts null, which means absent. */
export function nullable<Schema extends TSchema>(schema: Schema): TUnsafe<Static<Schema> | null> {
  const { type, enum: values } = schema as TSchema as { type: string; enum?: unknown[] };
  return Type.Unsafe({ ...schema, type: [type, 'null'], ...(values && { enum: [...values, null] }) });
}

/** Names a schema in the API reference, which shows it once. Schemas with the same name must be equal. */
export const named = <const S extends TSchema>(component: string, schema: S) => ({ ...schema, component });

export const closed = <P extends TProperties>(properties: P, description?: string): TObject<P> =>
  Type.Object(properties, { additionalProperties: false, ...(description && { description }) });

export const component = <P extends TProperties>(name: string, properties: P, description?: string) =>
  named(name, closed(properties, description));

export const FieldProblem = component('FieldProblem', {
  path: Type.String({ description: 'The path of the field.' }),
  rule: Type.String({ description: 'The rule that it breaks.' }),
  hint: Type.Optional(
    Type.String({
      description:
        'What was probably meant: `did you mean 1980-04-05?`. Only in the response to the caller who sent the file; never stored.',
    }),
  ),
});

export const REASON_MAX_CHARACTERS = 500;

export const reasonField = (description?: string) =>
  Type.String({
    pattern: '\\S',
    maxLength: REASON_MAX_CHARACTERS,
    rule: `must be a reason of 1 to ${REASON_MAX_CHARACTERS} characters`,
    ...(description && { description }),
  });
