/**
 * Statements for many rows whose text does not depend on the number of rows. SQLite runs one statement per row.
 * PostgreSQL runs one for all rows, passed as JSON, because each statement is a network round trip.
 */
import { CompiledQuery, type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { type Engine, engineOf } from './engine.ts';
import { KEYS, type KeyedTable } from './keys.ts';
import type { Db, Tables, Trx } from './tables.ts';

/** Returns the condition that `column` is one of the values, which are one parameter. */
export function isOneOf(db: Db | Trx, column: string, values: readonly (string | number)[]) {
  return engineOf(db) === 'postgres'
    ? sql<SqlBool>`${sql.ref(column)} = any(${values})`
    : sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`;
}

/** Returns the same condition, which every row meets if `values` is null. */
export function isOneOfOrAny(db: Db | Trx, column: string, values: readonly (string | number)[] | null) {
  return values === null ? sql<SqlBool>`1 = 1` : isOneOf(db, column, values);
}

/** Returns the employers of the rows of a table that meet `condition`. `employers`: only these; null for all. */
export async function employersIn(
  db: Db | Trx,
  table: KeyedTable,
  employers: readonly string[] | null,
  condition: RawBuilder<unknown> = sql`true`,
): Promise<Set<string>> {
  const { rows } = await sql<{ employer_id: string }>`
    select distinct employer_id from ${sql.table(table)}
    where ${condition} and ${isOneOfOrAny(db, 'employer_id', employers)}`.execute(db);
  return new Set(rows.map(({ employer_id }) => employer_id));
}

/** No text that starts with a prefix is above the prefix and this character, byte by byte. */
const LAST_CHARACTER = '\u{10ffff}';

/** Returns the condition that `column` starts with one of the texts. An index of the column is used. */
export function startsWithOneOf(column: string, texts: readonly string[]) {
  const ranges = texts.map(
    (text) => sql`(${sql.ref(column)} >= ${text} and ${sql.ref(column)} < ${text + LAST_CHARACTER})`,
  );
  return sql<SqlBool>`(${sql.join(ranges, sql` or `)})`;
}

/** Returns the condition that `column` is one of a subquery's values. The subquery runs first, so an index of the column is used. */
export function isOneOfSelected(db: Db | Trx, column: string, subquery: RawBuilder<unknown>) {
  return engineOf(db) === 'postgres'
    ? sql<SqlBool>`${sql.ref(column)} = any(array(${subquery}))`
    : sql<SqlBool>`${sql.ref(column)} in (${subquery})`;
}

/** Returns a subquery with text columns for `rows`, which are one parameter: join it to look up composite keys. */
export function textRows(db: Db | Trx, columns: readonly string[], rows: readonly (readonly string[])[]) {
  const json = JSON.stringify(rows);
  const elements =
    engineOf(db) === 'postgres' ? sql`json_array_elements(${json}::json)` : sql`json_each(${json})`;
  const selected = columns.map((column, index) => sql`value ->> ${sql.lit(index)} as ${sql.ref(column)}`);
  return sql`(select ${sql.join(selected)} from ${elements})`;
}

/** Inserts many rows, in order, and returns how many. `suffix`, a constant text, ends the statement. */
export function insertMany<T extends keyof Tables & string>(
  trx: Trx,
  table: T,
  columns: readonly (keyof Tables[T] & string)[],
  rows: readonly (readonly unknown[])[],
  suffix = '',
): Promise<number> {
  const names = columns.join(', ');
  const values = columns.map(() => '?').join(', ');
  return runForRows(trx, columns, rows, {
    sqlite: `insert into ${table} (${names}) values (${values}) ${suffix}`,
    postgres: `insert into ${table} (${names}) select ${names} from ${parameterRows(table)} ${suffix}`,
  });
}

export function insertRows<T extends keyof Tables & string>(
  trx: Trx,
  table: T,
  rows: readonly Partial<Record<keyof Tables[T] & string, unknown>>[],
  suffix = '',
): Promise<number> {
  const columns = Object.keys(rows[0] ?? {}) as (keyof Tables[T] & string)[];
  const values = rows.map((row) => columns.map((column) => row[column]));
  return insertMany(trx, table, columns, values, suffix);
}

/**
 * Sets `columns` of the rows with the given keys. The last value of each given row is its `key`. Rows for which the
 * condition `guard`, a constant text, is false stay unchanged. Returns the number of rows updated.
 */
export function updateMany<T extends keyof Tables & string>(
  trx: Trx,
  table: T,
  columns: readonly (keyof Tables[T] & string)[],
  key: keyof Tables[T] & string,
  rows: readonly (readonly unknown[])[],
  guard: string,
): Promise<number> {
  const set = columns.map((column) => `${column} = ?`).join(', ');
  const setGiven = columns.map((column) => `${column} = given.${column}`).join(', ');
  return runForRows(trx, [...columns, key], rows, {
    sqlite: `update ${table} set ${set} where ${key} = ? and ${guard}`,
    postgres: `with given as (select * from ${parameterRows(table)})
      update ${table} set ${setGiven} from given where ${table}.${key} = given.${key} and ${guard}`,
  });
}

/** The most rows counted of anything. Reading so many index entries takes a few milliseconds; more is "at least". */
export const COUNTED_AT_MOST = 25_000;

export async function countOf(db: Db, rows: { limit(limit: number): Expression<unknown> }): Promise<number> {
  const { rows: counted } = await sql<{ count: number }>`
    select count(*) as count from ${rows.limit(COUNTED_AT_MOST)} as counted`.execute(db);
  return counted[0]?.count ?? 0;
}

export async function countRows(db: Db, tables: readonly (keyof Tables & string)[]): Promise<number> {
  let total = 0;
  for (const table of tables) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(
      db,
    );
    total += Number(rows[0]?.count ?? 0);
  }
  return total;
}

/** A row of any table, by column. */
export type AnyRow = Readonly<Record<string, unknown>>;

/**
 * Yields the rows of a table that meet `condition`, by default all, in the order of its key, at most `size` at once. Each page
 * is a short statement. `selected` has the key.
 */
export async function* pagesByKey<Row extends AnyRow>(
  db: Db | Trx,
  table: KeyedTable,
  selected: RawBuilder<unknown>,
  size: number,
  condition: RawBuilder<unknown> = sql`true`,
  key: readonly string[] = KEYS[table],
): AsyncGenerator<Row[]> {
  const order = sql.join(key.map((name) => sql.ref(name)));
  let after = sql`true`;
  for (;;) {
    const { rows } = await sql<Row>`
      select ${selected} from ${sql.table(table)}
      where ${condition} and ${after} order by ${order} limit ${sql.lit(size)}`.execute(db);
    const last = rows.at(-1);
    if (last !== undefined) yield rows;
    if (last === undefined || rows.length < size) return;
    after = sql`(${order}) > (${sql.join(key.map((name) => last[name]))})`;
  }
}

export function* piecesOf<T>(list: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}

/** Returns SQL for the rows of a JSON parameter, with the types of the table's columns. */
function parameterRows(table: string): string {
  return `json_populate_recordset(null::${table}, $1::json)`;
}

/** Runs a statement for all rows. The SQLite driver runs it once per row of its only parameter, an array. */
async function runForRows(
  trx: Trx,
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
  text: Readonly<Record<Engine, string>>,
): Promise<number> {
  if (rows.length === 0) return 0;
  const engine = engineOf(trx);
  const parameter = engine === 'sqlite' ? rows : jsonOf(columns, rows);
  const result = await trx.executeQuery(CompiledQuery.raw(text[engine], [parameter]));
  return Number(result.numAffectedRows ?? 0);
}

function jsonOf(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  // PostgreSQL reads bytes in its hexadecimal notation.
  const jsonValue = (value: unknown) => (Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value);
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, jsonValue(row[index])]))),
  );
}
