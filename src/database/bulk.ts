import { CompiledQuery, type RawBuilder, type SqlBool, sql } from 'kysely';
import { engineOf } from './engine.ts';
import type { Db, Tables, Trx } from './tables.ts';

/**
 * Many rows with few statements, whose texts don't depend on how many rows there are: on SQLite as values in slices
 * of few sizes, on PostgreSQL as one JSON text, because there each statement is a trip over the network.
 */

/**
 * Rows a statement on SQLite. Powers of two, so that a batch of any size needs few texts, each compiled and prepared
 * once; 64 rows of 22 columns stay far below the 32,766 parameters that it takes.
 */
const SIZES = [64, 16, 4, 1] as const;

const texts = new Map<string, string>();

/** Cuts rows into slices of few sizes, in order; on PostgreSQL there is no need to. */
export function* slices<R>(db: Db | Trx, rows: readonly R[]): Generator<readonly R[]> {
  if (engineOf(db) === 'postgres') {
    if (rows.length > 0) yield rows;
    return;
  }
  let from = 0;
  for (const size of SIZES) {
    for (; rows.length - from >= size; from += size) yield rows.slice(from, from + size);
  }
}

/** `column` is one of the values: a slice of them, or a few. */
export function isOneOf(
  db: Db | Trx,
  column: string,
  values: readonly (string | number)[],
): RawBuilder<SqlBool> {
  return engineOf(db) === 'postgres'
    ? sql`${sql.ref(column)} = any(${values})`
    : sql`${sql.ref(column)} in (${sql.join(values)})`;
}

/**
 * A statement of many rows that breaks a rule leaves what it did: its transaction is rolled back, as by every error here.
 * Otherwise SQLite would keep a copy of each page that the statement changes, in case it breaks one (docs/decisions/0070).
 */
const OR_FAIL = 'or fail';

/**
 * Inserts many rows, in order. `columns` names the values of a row; `suffix` ends the statement (an `ON CONFLICT …`)
 * and must be a constant text. Answers how many rows were inserted or updated.
 */
export async function insertMany<T extends keyof Tables & string>(
  trx: Trx,
  table: T,
  columns: readonly (keyof Tables[T] & string)[],
  rows: readonly (readonly unknown[])[],
  suffix = '',
): Promise<number> {
  const names = columns.join(', ');
  const into = `into ${table} (${names})`;
  if (engineOf(trx) === 'postgres') {
    return runWithJson(trx, `insert ${into} select ${names} from ${given(table)} ${suffix}`, columns, rows);
  }
  return runInSlices(trx, rows, `${into} ${suffix}`, (count) => {
    return `insert ${OR_FAIL} ${into} values ${placeholders(count, columns.length)} ${suffix}`;
  });
}

/**
 * Sets `columns` of the rows whose `key`, an integer and the first value of each given row, is given and for which
 * `guard` holds, a constant text. Answers how many rows were updated.
 */
export async function updateMany<T extends keyof Tables & string>(
  trx: Trx,
  table: T,
  key: keyof Tables[T] & string,
  columns: readonly (keyof Tables[T] & string)[],
  rows: readonly (readonly unknown[])[],
  guard: string,
): Promise<number> {
  const all = [key, ...columns];
  const set = columns.map((column) => `${column} = given.${column}`).join(', ');
  const update = (id: string, otherwise = '') =>
    `update ${otherwise} ${table} set ${set} from given where ${table}.${key} = ${id} and ${guard}`;
  if (engineOf(trx) === 'postgres') {
    return runWithJson(
      trx,
      `with given as (select * from ${given(table)}) ${update(`given.${key}`)}`,
      all,
      rows,
    );
  }
  // The driver binds every number as a float, and a value in a list has no column's type to be changed to.
  return runInSlices(trx, rows, `update ${table} ${all}`, (count) => {
    return `with given (${all}) as (values ${placeholders(count, all.length)}) ${update(`cast(given.${key} as integer)`, OR_FAIL)}`;
  });
}

/** The rows of a JSON text, with the types of a table's columns. */
function given(table: string): string {
  return `json_populate_recordset(null::${table}, $1::json)`;
}

async function runWithJson(
  trx: Trx,
  text: string,
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): Promise<number> {
  if (rows.length === 0) return 0;
  const objects = rows.map((row) =>
    Object.fromEntries(columns.map((column, index) => [column, jsonOf(row[index])])),
  );
  return run(trx, text, [JSON.stringify(objects)]);
}

/** Bytes as the text that a column of bytes is read from. */
function jsonOf(value: unknown): unknown {
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value;
}

/** `textFor` makes the statement for a number of rows, once for each `name` and number. */
async function runInSlices(
  trx: Trx,
  rows: readonly (readonly unknown[])[],
  name: string,
  textFor: (rows: number) => string,
): Promise<number> {
  let changed = 0;
  for (const slice of slices(trx, rows)) {
    const key = `${slice.length} ${name}`;
    let text = texts.get(key);
    if (text === undefined) {
      text = textFor(slice.length);
      texts.set(key, text);
    }
    changed += await run(trx, text, slice.flat());
  }
  return changed;
}

/** `(?, ?), (?, ?)`: the placeholders of some rows. */
function placeholders(rows: number, columns: number): string {
  const row = `(${Array(columns).fill('?').join(', ')})`;
  return Array(rows).fill(row).join(', ');
}

async function run(trx: Trx, text: string, parameters: readonly unknown[]): Promise<number> {
  const result = await trx.executeQuery(CompiledQuery.raw(text, [...parameters]));
  return Number(result.numAffectedRows ?? 0);
}
