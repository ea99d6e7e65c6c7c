/** On which engine the tests of this process run: SQLite, unless a file of test/postgres says otherwise. */
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import t, { type Test } from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { type PostgresServer, startPostgres } from './postgres.ts';

let server: Promise<PostgresServer> | null = null;

/** From now on every database is created on a PostgreSQL server of this process, which ends with it. */
export function usePostgres(): void {
  const started = startPostgres();
  server = started;
  t.teardown(async () => (await started).remove());
}

export function engineOfTests(): 'sqlite' | 'postgres' {
  return server === null ? 'sqlite' : 'postgres';
}

/** The server that `usePostgres` started. */
export function postgresServer(): Promise<PostgresServer> {
  if (server === null) throw new Error('only the tests on PostgreSQL have a server');
  return server;
}

/** The address of a database that has no tables yet, for this test only. */
export async function newDatabaseUrl(t: Test): Promise<string> {
  return server === null ? `sqlite:${t.testdir()}/sidecar.db` : (await server).create();
}

/**
 * Removes the time limits of a transaction on PostgreSQL, so that a slow machine does not end one that the test holds
 * open on purpose.
 */
export async function liftTimeLimits(trx: Trx): Promise<void> {
  await sql`select set_config(name, '0', true)
    from unnest(array['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout']) as name`.execute(
    trx,
  );
}

/** The error of the engine of this run for a duplicate key. */
export function notUnique(): { code: string } {
  return { code: engineOfTests() === 'sqlite' ? 'SQLITE_CONSTRAINT_UNIQUE' : '23505' };
}

/** The error of the engine of this run for a full disk, which is temporary. */
export function diskFull(): { code: string } {
  return { code: engineOfTests() === 'sqlite' ? 'SQLITE_FULL' : '53100' };
}

/** The names of the tables. */
export async function tablesOf(db: Db): Promise<string[]> {
  const { rows } =
    engineOfTests() === 'sqlite'
      ? await sql<{ name: string }>`select name from sqlite_schema where type = 'table'`.execute(db)
      : await sql<{
          name: string;
        }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(db);
  return rows.map((row) => row.name).sort();
}

/**
 * Returns all stored data as text and bytes: on SQLite the file and its log as they are, on PostgreSQL, whose
 * files cannot be told apart by database, every row of every table.
 */
export async function rawBytes(db: Db, url: string): Promise<Buffer> {
  if (engineOfTests() === 'sqlite') {
    return Buffer.concat(['', '-wal'].map((end) => readFileSync(`${sqlitePath(url)}${end}`)));
  }
  return Buffer.concat((await bytesByTable(db)).map(({ bytes }) => bytes));
}

/** All values of all rows, one after the other. */
export async function bytesByTable(db: Db): Promise<{ name: string; bytes: Buffer }[]> {
  const tables: { name: string; bytes: Buffer }[] = [];
  for (const name of await tablesOf(db)) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(db);
    const values = rows.flatMap((row) => Object.values(row));
    const bytes = values.map((value) => (Buffer.isBuffer(value) ? value : Buffer.from(`${value}`)));
    tables.push({ name, bytes: Buffer.concat(bytes) });
  }
  return tables;
}
