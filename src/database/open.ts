import { chmodSync, closeSync, existsSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { Kysely, sql } from 'kysely';
import { engineOf, engineOfUrl } from './engine.ts';
import { codeOf } from './errors.ts';
import { BESIDE } from './files.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';
import type { Db, Tables } from './tables.ts';

/** The path of a `sqlite:` address, absolute. */
export function sqlitePath(databaseUrl: string): string {
  return resolve(databaseUrl.slice('sqlite:'.length));
}

/** Resolves links, so that a database has one lock and one high-water mark whatever link leads to it. */
export function sqliteFile(databaseUrl: string): string {
  const path = sqlitePath(databaseUrl);
  return existsSync(path) ? realpathSync(path) : path;
}

/** The file of an open database, where links lead; null on PostgreSQL. */
export async function fileOf(db: Db): Promise<string | null> {
  if (engineOf(db) === 'postgres') return null;
  const { rows } = await sql<{ file: string }>`
    select file from pragma_database_list where name = 'main'`.execute(db);
  return rows[0]?.file ?? null;
}

/**
 * Opens the database of `DATABASE_URL`. On SQLite an empty one (readable by its owner only) is made where there is
 * none, and it throws when the file can't be opened or is not durable; on PostgreSQL the first use does. The caller
 * destroys it. `onFatal` is called for the first error after which a SQLite file must not be used, whatever the caller
 * of the statement does with the error.
 */
export function openDatabase(databaseUrl: string, onFatal?: (error: unknown) => void): Db {
  if (engineOfUrl(databaseUrl) === 'postgres') {
    return new Kysely<Tables>({ dialect: openPostgres(databaseUrl) });
  }
  const path = sqlitePath(databaseUrl);
  // Create the file before SQLite does: the log and the shared memory next to it take its mode.
  makeFile(path);
  const { dialect } = openSqlite(path, onFatal);
  return new Kysely<Tables>({ dialect });
}

const abandoned = new Set<Db>();

/**
 * Leaves a damaged database open until the process ends, instead of destroying it: closing the last handle would copy
 * the log into the file.
 */
export function abandon(db: Db): void {
  abandoned.add(db);
}

/** Locks held until released. A handle without a reference is garbage-collected, which releases its lock. */
const held = new Set<BetterSqlite3.Database>();

/** Another process serves this database. */
export class AlreadyServed extends Error {
  readonly code = 'ALREADY_SERVED';
}

/**
 * Keeps a second `serve` off the same file until the answered function is called or the process ends: an
 * exclusive transaction on an empty file beside it, which SIGKILL releases too and which never goes stale.
 * Throws `AlreadyServed` when another process holds it. On PostgreSQL any number may serve: nothing is held.
 */
export function holdServeLock(databaseUrl: string): () => void {
  if (engineOfUrl(databaseUrl) === 'postgres') return () => {};
  makeFile(sqlitePath(databaseUrl));
  const path = sqliteFile(databaseUrl);
  makeFile(`${path}${BESIDE.lock}`);
  const lock = new BetterSqlite3(`${path}${BESIDE.lock}`, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (codeOf(error) !== 'SQLITE_BUSY') throw error;
    throw new AlreadyServed(`another process already serves ${path}: stop it, or take another database`);
  }
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
}

/**
 * Whether a process serves this database now; null on PostgreSQL, where nothing is held. A look that takes nothing: a
 * `serve` that starts in the same moment is not in its way.
 */
export function isServed(databaseUrl: string): boolean | null {
  if (engineOfUrl(databaseUrl) === 'postgres') return null;
  const named = sqlitePath(databaseUrl);
  const path = existsSync(named) ? `${realpathSync(named)}${BESIDE.lock}` : '';
  if (!existsSync(path)) return false;
  const lock = new BetterSqlite3(path, { readonly: true, timeout: 0 });
  try {
    lock.prepare('select 1 from sqlite_schema').all();
    return false;
  } catch (error) {
    if (codeOf(error) !== 'SQLITE_BUSY') throw error;
    return true;
  } finally {
    lock.close();
  }
}

/**
 * An empty file is a database without tables. A file that is there is never opened here: closing it would let go of
 * every lock that this process has on it (POSIX: close, fcntl), SQLite's own too, and the next process to read the
 * database would take its log for one that nobody needs, and remove it.
 */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  chmodSync(path, 0o600);
}
