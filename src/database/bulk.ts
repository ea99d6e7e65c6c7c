import { CompiledQuery } from 'kysely';
import type { Tables, Trx } from './tables.ts';

/**
 * Rows a statement. Powers of two, so that a batch of any size needs few texts, each compiled and prepared once;
 * 64 rows of 22 columns stay far below the 32,766 parameters that SQLite takes.
 */
const SIZES = [64, 16, 4, 1] as const;

const texts = new Map<string, string>();

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
  let changed = 0;
  let from = 0;
  for (const size of SIZES) {
    for (; rows.length - from >= size; from += size) {
      const text = insertText(table, columns, size, suffix);
      const result = await trx.executeQuery(CompiledQuery.raw(text, rows.slice(from, from + size).flat()));
      changed += Number(result.numAffectedRows ?? 0);
    }
  }
  return changed;
}

function insertText(table: string, columns: readonly string[], size: number, suffix: string): string {
  const key = `${table} ${columns.join()} ${size} ${suffix}`;
  let text = texts.get(key);
  if (text === undefined) {
    const row = `(${columns.map(() => '?').join(', ')})`;
    text = `insert into ${table} (${columns.join(', ')}) values ${Array(size).fill(row).join(', ')} ${suffix}`;
    texts.set(key, text);
  }
  return text;
}
