import { CompiledQuery } from 'kysely';
import type { Tables, Trx } from './tables.ts';

/**
 * Rows a statement. Powers of two, so that a batch of any size needs few texts, each compiled and prepared once;
 * 64 rows of 22 columns stay far below the 32,766 parameters that SQLite takes.
 */
const SIZES = [64, 16, 4, 1] as const;

const texts = new Map<string, string>();

/** Cuts rows into slices of few sizes, in order. */
export function* slices<R>(rows: readonly R[]): Generator<readonly R[]> {
  let from = 0;
  for (const size of SIZES) {
    for (; rows.length - from >= size; from += size) yield rows.slice(from, from + size);
  }
}

/** `(?, ?), (?, ?)`: the placeholders of some rows. */
export function placeholders(rows: number, columns: number): string {
  const row = `(${Array(columns).fill('?').join(', ')})`;
  return Array(rows).fill(row).join(', ');
}

/** Runs a statement whose text depends on the number of its rows only; the text is made once a number. */
export async function runForRows(
  trx: Trx,
  name: string,
  rows: number,
  textFor: (rows: number) => string,
  parameters: readonly unknown[],
): Promise<number> {
  const key = `${name} ${rows}`;
  let text = texts.get(key);
  if (text === undefined) {
    text = textFor(rows);
    texts.set(key, text);
  }
  const result = await trx.executeQuery(CompiledQuery.raw(text, [...parameters]));
  return Number(result.numAffectedRows ?? 0);
}

/**
 * Inserts many rows with as few statements as possible, in order. `columns` names the values of a row;
 * `suffix` ends the statement (an `ON CONFLICT …`) and must be a constant text. Answers how many rows were
 * inserted or updated.
 */
export async function insertMany<T extends keyof Tables & string>(
  trx: Trx,
  table: T,
  columns: readonly (keyof Tables[T] & string)[],
  rows: readonly (readonly unknown[])[],
  suffix = '',
): Promise<number> {
  const head = `insert into ${table} (${columns.join(', ')}) values`;
  let changed = 0;
  for (const slice of slices(rows)) {
    const textFor = (count: number) => `${head} ${placeholders(count, columns.length)} ${suffix}`;
    changed += await runForRows(trx, `${head} ${suffix}`, slice.length, textFor, slice.flat());
  }
  return changed;
}
