/**
 * The differences between the engines, together with bulk.ts (many rows), dialect.ts (the schema) and the two drivers. On
 * SQLite a transaction holds the only write lock from its start, so no other runs at the same time. PostgreSQL runs many at
 * once, which the locks in this file coordinate. On SQLite they do nothing.
 */
import { PostgresAdapter, type SelectQueryBuilder, sql } from 'kysely';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { isStatementTimeout } from './errors.ts';
import type { Db, Tables, Trx } from './tables.ts';

export type Engine = 'sqlite' | 'postgres';

export function engineOf(db: Db | Trx): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';
}

export function engineOfUrl(databaseUrl: string): Engine {
  return databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres';
}

/**
 * Takes named locks until the transaction ends. Take them for a decision that depends on rows that another transaction
 * may add, and before any row is locked, so that no two transactions wait for each other.
 */
export async function lockNames(trx: Trx, names: readonly string[]): Promise<void> {
  if (engineOf(trx) === 'sqlite' || names.length === 0) return;
  await sql`select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest(${names}::text[]) as name`.execute(
    trx,
  );
}

/** Locks and returns the names that are free. It never waits, so it can't deadlock. */
export async function tryLockNames(trx: Trx, names: readonly string[]): Promise<Set<string>> {
  if (engineOf(trx) === 'sqlite' || names.length === 0) return new Set(names);
  const { rows } = await sql<{ name: string; taken: boolean }>`
    select name, pg_try_advisory_xact_lock(hashtextextended(name, 0)) as taken
    from unnest(${[...new Set(names)]}::text[]) as name`.execute(trx);
  return new Set(rows.flatMap(({ name, taken }) => (taken ? [name] : [])));
}

/** Shorter than the second after which PostgreSQL looks for a deadlock. */
const TABLES_WITHIN_MS = 800;

/**
 * Locks every table on PostgreSQL, so that a migration meets no transaction of a running sidecar, which would end in a
 * deadlock. While it waits, others wait for it, so it gives up before a delivery is refused. Throws LOCK_TIMEOUT.
 */
export async function lockTables(trx: Trx): Promise<void> {
  if (engineOf(trx) === 'sqlite') return;
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables
    where schemaname = current_schema() and pg_has_role(tableowner, 'usage') order by 1`.execute(trx);
  const limit = (ms: number) => sql`select set_config('statement_timeout', ${`${ms}`}, true)`.execute(trx);
  await limit(TABLES_WITHIN_MS);
  const locking = sql`lock table ${sql.join(rows.map(({ name }) => sql.table(name)))} in access exclusive mode`;
  await locking.execute(trx).catch((error: unknown) => {
    if (!isStatementTimeout(error)) throw error;
    throw new AppError('LOCK_TIMEOUT', 'another session uses a table: end its transaction, then try again');
  });
  await limit(0);
}

/** Locks the rows that a query reads until the transaction ends. Returns them as they are once they are locked. */
export function forUpdate<T extends keyof Tables, O>(trx: Trx, query: SelectQueryBuilder<Tables, T, O>) {
  return engineOf(trx) === 'sqlite' ? query : query.forUpdate();
}

/** Locks the rows that are not locked and skips locked rows, which another worker handles. */
export function forUpdateSkipLocked<T extends keyof Tables, O>(
  trx: Trx,
  query: SelectQueryBuilder<Tables, T, O>,
): SelectQueryBuilder<Tables, T, O> {
  return engineOf(trx) === 'sqlite' ? query : query.forUpdate().skipLocked();
}

/** Returns the time that all sidecars of a database agree on. */
export type SharedNow = (db: Db | Trx) => Promise<Date>;

export function sharedClock(clock: Clock): SharedNow {
  return (db) => databaseNow(db, clock);
}

/**
 * The clock that leases, due times and ages are compared by: the database's, so that sidecars on several machines agree
 * and a wrong clock of one ends nothing. SQLite has none of its own, and every process on the file shares this machine's.
 */
export async function databaseNow(db: Db | Trx, clock: Clock): Promise<Date> {
  if (engineOf(db) === 'sqlite') return clock();
  // clock_timestamp, not now(): a transaction that waited for a lock must not count from before the wait.
  const { rows } = await sql<{ ms: string }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::text as ms`.execute(db);
  return new Date(Number(rows[0]?.ms));
}

export async function tableExists(db: Db | Trx, table: keyof Tables): Promise<boolean> {
  const tables =
    engineOf(db) === 'sqlite'
      ? await sql`select 1 from sqlite_schema where type = 'table' and name = ${table}`.execute(db)
      : await sql`select 1 where to_regclass(${table}) is not null`.execute(db);
  return tables.rows.length > 0;
}

/** Returns whether there is any table, except those of PostgreSQL's extensions. */
export async function hasTables(db: Db | Trx): Promise<boolean> {
  const tables =
    engineOf(db) === 'sqlite'
      ? await sql`select 1 from sqlite_schema where type = 'table'`.execute(db)
      : await sql`
          select 1 from pg_class
          where relkind in ('r', 'p') and relnamespace = to_regnamespace(current_schema()::text) and not exists (
            select 1 from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
          )`.execute(db);
  return tables.rows.length > 0;
}

/** Returns the tables with a foreign key `record_id` to the audit records. */
export async function tablesOfRecords(db: Db): Promise<string[]> {
  const { rows } =
    engineOf(db) === 'sqlite'
      ? await sql<{ name: string }>`
          select tables.name from sqlite_schema tables, pragma_foreign_key_list(tables.name) key
          where tables.type = 'table' and key."table" = 'audit_records' order by 1`.execute(db)
      : await sql<{ name: string }>`
          select relname as name from pg_constraint join pg_class on pg_class.oid = conrelid
          where confrelid = to_regclass('audit_records') order by 1`.execute(db);
  return rows.map(({ name }) => name);
}

/** Waits for the transactions that write to a table, or lock rows of it, and keeps others from doing so until this one ends. */
export async function lockWrites(trx: Trx, table: keyof Tables): Promise<void> {
  if (engineOf(trx) === 'postgres') await sql`lock table ${sql.table(table)} in exclusive mode`.execute(trx);
}

export async function lockAllTables(trx: Trx): Promise<void> {
  if (engineOf(trx) === 'sqlite') return;
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema()`.execute(trx);
  await sql`lock table ${sql.join(rows.map(({ name }) => sql.table(name)))} in access exclusive mode`.execute(
    trx,
  );
}

/** Continues the engine's sequences after the highest number that a copy inserted. */
export async function moveSequences(trx: Trx): Promise<void> {
  if (engineOf(trx) === 'sqlite') return;
  const { rows } = await sql<{ table: string; column: string }>`
    select table_name as table, column_name as column from information_schema.columns
    where table_schema = current_schema() and is_identity = 'YES'`.execute(trx);
  for (const { table, column } of rows) {
    await sql`
      select setval(pg_get_serial_sequence(${table}, ${column}), max(${sql.ref(column)}))
      from ${sql.table(table)} having max(${sql.ref(column)}) is not null`.execute(trx);
  }
}

/** Returns the size of the database on a PostgreSQL server in bytes, and 0 on SQLite, whose files are visible. */
export async function serverBytes(db: Db): Promise<number> {
  if (engineOf(db) === 'sqlite') return 0;
  const { rows } = await sql<{ bytes: number }>`
    select pg_database_size(current_database()) as bytes`.execute(db);
  return rows[0]?.bytes ?? 0;
}

/** Compares ids by code points, which is the order of their UTF-8 bytes in the engines. JavaScript compares UTF-16. */
export function byBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return (one.codePointAt(at) ?? -1) - (other.codePointAt(at) ?? -1);
}
