/** Cursors: where a page ended, as opaque text that the next request sends back. */
import type { Static, TSchema } from 'typebox';
import Type from 'typebox';
import { compile } from '../contract/check.ts';
import { AppError } from '../errors.ts';

/** A list as the API and the command line return it. */
export type Page<Row> = { data: Row[]; has_more: boolean; next_cursor: string | null };

type Cursor<Position> = {
  /** Returns a page that `next` continues; null on the last page. */
  page<Row>(data: Row[], next: Position | null): Page<Row>;
  /** Throws INVALID_REQUEST for a text that this list did not make. */
  decode(text: string | undefined): Position | undefined;
};

const RULE = 'must be the next_cursor of a page of this list, unchanged';

/** Creates the cursors of one list. Each contains `list`, so that a list rejects the cursors of another. */
export function cursorOf<const S extends TSchema>(list: string, position: S): Cursor<Static<S>> {
  const ofList = compile(Type.Object({ list: Type.Literal(list), at: Type.Unknown() }));
  const ofPosition = compile(position);
  return {
    page(data, at) {
      const text = JSON.stringify({ list, at });
      const next_cursor = at === null ? null : Buffer.from(text).toString('base64url');
      return { data, has_more: at !== null, next_cursor };
    },
    decode(text) {
      if (text === undefined) return undefined;
      const value = parse(text);
      if (ofList.accepts(value) && ofPosition.accepts(value.at) && isStorable(value.at)) return value.at;
      throw new AppError('INVALID_REQUEST', `cursor: ${RULE}`, {
        problems: [{ path: 'cursor', rule: RULE }],
      });
    },
  };
}

/** Returns whether a database can hold each value: a forged cursor may contain others. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  return typeof value !== 'object' || value === null || Object.values(value).every(isStorable);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
