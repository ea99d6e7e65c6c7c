/** Cursors: where a page ended, as opaque text that the next request sends back. */
import type { Static, TSchema } from 'typebox';
import Type from 'typebox';
import { compile } from '../contract/check.ts';
import { parseJson } from '../contract/json.ts';
import { AppError } from '../errors.ts';

/** A list as the API and the command line return it. */
export type ListPage<Row> = { data: Row[]; has_more: boolean; next_cursor: string | null };

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

/** Returns whether a database can hold each number: a forged cursor may contain others. */
function hasSafeNumbers(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(hasSafeNumbers);
}
