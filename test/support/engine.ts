/** The engines that tests run on. */
import { readFileSync, realpathSync } from 'node:fs';
import { sql } from 'kysely';
import t, { type Test } from 'tap';
import { type Engine, engineOf as engineOfDatabase, engineOfUrl } from '../../src/database/engine.ts';
import { sqlitePath } from '../../src/database/open.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import {
  createTemplate,
  type Databases,
  databasesAt,
  type PostgresServer,
  startPostgres,
} from './postgres.ts';
import { isRunByTap, shared } from './shared.ts';

type Options = { skip?: string | false; timeout?: number };
type Body = (t: Test, engine: Engine) => unknown;
type Arranged<A> = (name: string, body: (t: Test, arranged: A, engine: Engine) => unknown) => void;
type Suite = {
  (name: string, body: Body): void;
  (name: string, options: Options, body: Body): void;
  /** Returns the same function for tests that each start from a result of `arrange`. */
  with<A>(arrange: (t: Test) => A): Arranged<Awaited<A>>;
};

/** In `npm run test:postgres`. */
const isOnlyPostgres = process.env.TEST_ENGINE === 'postgres';

/** Returns a function that registers a test once per engine. Databases of the test are created on that engine. */
function suiteOn(engines: readonly Engine[]): Suite {
  const suite = (name: string, ...rest: [Body] | [Options, Body]) => {
    const [options, body] = rest.length === 1 ? [{}, rest[0]] : rest;
    for (const engine of engines) {
      if (isOnlyPostgres && engine === 'sqlite') continue;
      const title = engine === 'sqlite' ? name : `${name} (PostgreSQL)`;
      t.test(title, { ...options, context: { engine } }, async (t) => {
        await body(t, engine);
      });
    }
  };
  return Object.assign(suite, {
    with: <A>(arrange: (t: Test) => A): Arranged<Awaited<A>> => {
      return (name, body) => suite(name, async (t, engine) => body(t, await arrange(t), engine));
    },
  });
}

/** A test of SQL that differs between the engines. */
export const onEachEngine = suiteOn(['sqlite', 'postgres']);

/** A test of one engine alone. */
export const onSqlite = suiteOn(['sqlite']);
export const onPostgres = suiteOn(['postgres']);

/** A test that runs on SQLite in `npm test` and on PostgreSQL in `npm run test:postgres`. */
export const onEitherEngine = suiteOn([isOnlyPostgres ? 'postgres' : 'sqlite']);

/** Returns the engine of a test: SQLite unless a function above registered it for PostgreSQL. */
export function engineOf(t: Test): Engine {
  return (t.context as { engine?: Engine } | null)?.engine ?? 'sqlite';
}

export function usePostgres(): void {
  t.context = { engine: 'postgres' };
}

let own: Promise<PostgresServer> | undefined;

/** Runs all tests of a file on PostgreSQL, on a server of the process that they may stop and must start again. */
export function useOwnPostgres(): Promise<PostgresServer> {
  usePostgres();
  own ??= withTemplate();
  databases = own;
  return own;
}

const SHARED = new URL('./shared-postgres.ts', import.meta.url);
let databases: Promise<Databases> | undefined;

/** Returns the databases of this file's server. */
export function postgres(): Promise<Databases> {
  databases ??= isRunByTap ? shared(SHARED).then(databasesAt) : withTemplate();
  return databases;
}

async function withTemplate(): Promise<PostgresServer> {
  const server = await startPostgres();
  t.teardown(server.remove);
  await createTemplate(server);
  return server;
}

/** Returns the address of a database without tables, for this test only. */
export async function newDatabaseUrl(t: Test): Promise<string> {
  return engineOf(t) === 'sqlite'
    ? `sqlite:${realpathSync(t.testdir())}/sidecar.db`
    : (await postgres()).create();
}

/**
 * Removes the time limits of transactions on PostgreSQL, so that a slow machine does not end one that the test holds
 * open.
 */
export async function liftTimeLimits(trx: Trx): Promise<void> {
  await sql`select set_config(name, '0', true)
    from unnest(array['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout']) as name`.execute(
    trx,
  );
}

/** Returns how many sessions of this database on PostgreSQL wait for a lock, in a statement that names the table. */
export async function lockWaits(db: Db, table = ''): Promise<number> {
  const { rows } = await sql`
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and position(${table} in query) > 0`.execute(
    db,
  );
  return rows.length;
}

/** Returns the engine's error for a duplicate key. */
export function notUnique(t: Test): { code: string } {
  return { code: engineOf(t) === 'sqlite' ? 'SQLITE_CONSTRAINT_UNIQUE' : '23505' };
}

/** Returns the engine's error for a full disk, which is temporary. */
export function diskFull(t: Test): { code: string } {
  return { code: engineOf(t) === 'sqlite' ? 'SQLITE_FULL' : '53100' };
}

export async function tablesOf(db: Db): Promise<string[]> {
  const { rows } =
    engineOfDatabase(db) === 'sqlite'
      ? await sql<{ name: string }>`select name from sqlite_schema where type = 'table'`.execute(db)
      : await sql<{
          name: string;
        }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(db);
  return rows.map((row) => row.name).sort();
}

/**
 * Returns all stored data as text and bytes: on SQLite the file and its log, on PostgreSQL every row of every table,
 * because its files are shared by all databases.
 */
export async function rawBytes(db: Db, url: string): Promise<Buffer> {
  if (engineOfUrl(url) === 'sqlite')
    return Buffer.concat(['', '-wal'].map((end) => readFileSync(`${sqlitePath(url)}${end}`)));
  return Buffer.concat((await bytesByTable(db)).map(({ bytes }) => bytes));
}

/** Returns all values of all rows, one after another. */
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
