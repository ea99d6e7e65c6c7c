/** Reads the JSON that this program stored in its own database. */
import type { Static, TSchema } from 'typebox';
import { compile } from '../contract/check.ts';
import type { Tables } from '../database/tables.ts';
import { AppError } from '../errors.ts';

/**
 * Returns a function that parses a column. It throws STORED_JSON_DAMAGED, which quotes nothing. `complete` adds what is not
 * stored before the value is checked.
 */
export function jsonColumn<const Table extends keyof Tables & string, const S extends TSchema>(
  table: Table,
  column: keyof Tables[Table] & string,
  schema: S,
  complete: (value: unknown) => unknown = (value) => value,
): (text: string | null, row: string) => Static<S> {
  const checker = compile(schema);
  return (text, row) => {
    let value: unknown;
    try {
      value = complete(JSON.parse(text ?? ''));
    } catch {
      // No schema accepts undefined.
    }
    if (checker.accepts(value)) return value;
    throw new AppError(
      'STORED_JSON_DAMAGED',
      `${table}.${column} of ${row} is damaged: run "benefits-sidecar verify", and restore a backup if it reports differences`,
    );
  };
}
