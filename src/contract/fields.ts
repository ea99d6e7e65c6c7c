/**
 * Kinds of field that several resources share. They are plain JSON Schema; `rule` is an annotation that says in
 * words what a problem reports. Lengths count characters as Unicode code points, as JSON Schema does.
 */
import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';

/**
 * The most characters of an id. The interface sets none, but ids are keys of unique indexes, and an index row of
 * PostgreSQL ends near 2,700 bytes: 255 characters take at most 1,020. Real ids have 36 or fewer.
 */
export const ID_MAX_CHARACTERS = 255;

/** An id of an employee, employer or deduction: text of its owner's making, compared by byte. */
export const identifier = Type.String({ minLength: 1, maxLength: ID_MAX_CHARACTERS });

/** A real day of the calendar. */
export const day = Type.String({ format: 'date', rule: 'must be a real date, YYYY-MM-DD' });

/** The e-mail format allows a domain without a dot and a quoted name with spaces: no service can write to those. */
const REACHABLE = '^[^@"\\s]+@[^@\\s]+\\.[^@\\s.]+$';

/** An e-mail address that a person would give. Both checks read the text once, whatever it holds. */
export const email = Type.String({
  format: 'email',
  pattern: REACHABLE,
  rule: 'must be a valid e-mail address',
});

/** One of a closed list of texts. */
export function oneOf<const Values extends readonly string[]>(
  values: Values,
  rule?: string,
): TUnsafe<Values[number]> {
  return Type.Unsafe({ type: 'string', enum: values, ...(rule && { rule }) });
}

/**
 * For what we receive: an optional field may also be null, which means absent. Senders write it both ways.
 * Takes a schema of one type; says so within JSON Schema.
 */
export function nullable<Schema extends TSchema>(schema: Schema): TUnsafe<Static<Schema> | null> {
  const { type, enum: values } = schema as TSchema as { type: string; enum?: unknown[] };
  return Type.Unsafe({ ...schema, type: [type, 'null'], ...(values && { enum: [...values, null] }) });
}
