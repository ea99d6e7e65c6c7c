/**
 * Field types that several schemas share. They are plain JSON Schema with the annotation `rule`, the text of
 * a problem. Lengths count Unicode code points, as JSON Schema does.
 */
import Type, { type Static, type TObject, type TProperties, type TSchema, type TUnsafe } from 'typebox';

/**
 * The contract sets no limit, but ids are keys of unique indexes, and PostgreSQL limits an index row to about
 * 2,700 bytes; 255 characters take at most 1,020. Real ids have at most 36.
 */
export const ID_MAX_CHARACTERS = 255;

/** An id of an employee, employer or deduction: any text, compared by byte. */
export const identifier = Type.String({ minLength: 1, maxLength: ID_MAX_CHARACTERS });

/** A valid calendar date. */
export const day = Type.String({ format: 'date', rule: 'must be a real date, YYYY-MM-DD' });

/**
 * The e-mail format allows a domain without a dot and a quoted name with spaces; no service can write to
 * those.
 */
const REACHABLE = '^[^@"\\s]+@[^@\\s]+\\.[^@\\s.]+$';

/** An e-mail address. Both checks take linear time. */
export const email = Type.String({
  format: 'email',
  pattern: REACHABLE,
  rule: 'must be a valid e-mail address',
});

/** Returns the schema of a closed set of texts. */
export function oneOf<const Values extends readonly string[]>(
  values: Values,
  rule?: string,
): TUnsafe<Values[number]> {
  return Type.Unsafe({ type: 'string', enum: values, ...(rule && { rule }) });
}

/** Returns the schema of a closed set of texts with a description. */
export function oneOfDescribed<const Values extends readonly string[]>(values: Values, description: string) {
  return { ...oneOf(values), description };
}

/**
 * Returns a schema that also accepts null, which means absent in what we receive. Takes a schema of one type.
 */
export function nullable<Schema extends TSchema>(schema: Schema): TUnsafe<Static<Schema> | null> {
  const { type, enum: values } = schema as TSchema as { type: string; enum?: unknown[] };
  return Type.Unsafe({ ...schema, type: [type, 'null'], ...(values && { enum: [...values, null] }) });
}

/** Names a schema in the API reference, which shows it once. Schemas with the same name must be equal. */
export const named = <const S extends TSchema>(component: string, schema: S) => ({ ...schema, component });

/** Returns an object schema without additional properties. */
export const closed = <const P extends TProperties>(properties: P, description?: string): TObject<P> =>
  Type.Object(properties, { additionalProperties: false, ...(description && { description }) });

/** Returns such a schema with a name. */
export const component = <const P extends TProperties>(name: string, properties: P, description?: string) =>
  named(name, closed(properties, description));

/** A problem: the path of the field and the rule that it breaks. */
export const FieldProblem = component('FieldProblem', {
  path: Type.String({ description: 'The path of the field.' }),
  rule: Type.String({ description: 'The rule that it breaks.' }),
});

export const REASON_MAX_CHARACTERS = 500;

/** Returns the schema of the reason that a person gives for an action. */
export const reasonField = (
  description?: string,
  rule = `must say why, in at most ${REASON_MAX_CHARACTERS} characters`,
) =>
  Type.String({
    pattern: '\\S',
    maxLength: REASON_MAX_CHARACTERS,
    rule,
    ...(description && { description }),
  });
