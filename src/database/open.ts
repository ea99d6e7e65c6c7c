import { chmodSync, closeSync, existsSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { Kysely, sql } from 'kysely';
import { AppError, codeOf } from '../errors.ts';
import { engineOf, engineOfUrl } from './engine.ts';
import { SUFFIX } from './files.ts';
import { openPostgres } from './postgres.ts';
import { type LockTurns, openSqlite } from './sqlite.ts';
import type { Db, Tables } from './tables.ts';

export function sqlitePath(databaseUrl: string): string {
  return resolve(databaseUrl.slice('sqlite:'.length));
}

/** Returns whether there is a file. Unlike `existsSync`, throws if a folder of the path may not be read. */
export function databaseExists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Resolves links, so that a database has one lock and one high-water mark whatever link leads to it. */
export function sqliteFile(databaseUrl: string): string {
  const path = sqlitePath(databaseUrl);
  return existsSync(path) ? realpathSync(path) : path;
}

/** Returns the file of an open database with links resolved, or null on PostgreSQL. */
export async function fileOf(db: Db): Promise<string | null> {
  if (engineOf(db) === 'postgres') return null;
  const { rows } = await sql<{ file: string }>`
    select file from pragma_database_list where name = 'main'`.execute(db);
  return rows[0]?.file ?? null;
}

/**
 * Opens the database of `DATABASE_URL`. The caller destroys it. On SQLite it creates a missing file, readable by its
 * owner only, and throws if the file can't be opened or is not durable; on PostgreSQL the first use throws. `onFatal` is
 * called as by `openSqlite`. `turns`: those of this thread, if several threads of the process write.
 */
export function openDatabase(databaseUrl: string, onFatal?: (error: unknown) => void, turns?: LockTurns): Db {
  if (engineOfUrl(databaseUrl) === 'postgres') {
    return new Kysely<Tables>({ dialect: openPostgres(databaseUrl) });
  }
  const path = sqlitePath(databaseUrl);
  // Before SQLite does: the log and the shared memory next to the file take its mode.
  makeFile(path);
  return new Kysely<Tables>({ dialect: openSqlite(path, onFatal, turns).dialect });
}

/** Keeps handles open: one without a reference is garbage-collected, which closes it and releases its lock. */
const held = new Set<Db | BetterSqlite3.Database>();

/** Leaves a damaged database open: closing the last handle would copy the log into the file. */
export function abandon(db: Db): void {
  held.add(db);
}

/**
 * Keeps a second `serve` off the same file until the returned function is called or the process ends: an exclusive
 * transaction on an empty file next to it, which SIGKILL ends too. Throws ALREADY_SERVED. On PostgreSQL any may serve.
 */
export function holdServeLock(databaseUrl: string): () => void {
  if (engineOfUrl(databaseUrl) === 'postgres') return () => {};
  makeFile(sqlitePath(databaseUrl));
  const path = sqliteFile(databaseUrl);
  makeFile(`${path}${SUFFIX.lock}`);
  const lock = new BetterSqlite3(`${path}${SUFFIX.lock}`, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (codeOf(error) !== 'SQLITE_BUSY') throw error;
    throw new AppError(
      'ALREADY_SERVED',
      `another process already serves ${path}: stop it, or use another database`,
    );
  }
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
}

/** Returns whether a process serves this database, null on PostgreSQL. Takes no lock. */
export function isServed(databaseUrl: string): boolean | null {
  if (engineOfUrl(databaseUrl) === 'postgres') return null;
  const named = sqlitePath(databaseUrl);
  const path = existsSync(named) ? `${realpathSync(named)}${SUFFIX.lock}` : '';
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

/** Events acknowledged since the last check may be lost. The provider can still replay them. */
const LOOK_EVERY_MS = 1_000;

/** Calls `replaced` once if the files of an open SQLite database are replaced or removed. Returns a function to stop. */
export function watchFiles(databaseUrl: string, replaced: (error: AppError) => void): () => void {
  if (engineOfUrl(databaseUrl) === 'postgres') return () => {};
  const paths = ['', SUFFIX.log, SUFFIX.memory].map((end) => `${sqliteFile(databaseUrl)}${end}`);
  const first = paths.map(identity);
  const timer = setInterval(() => {
    const index = paths.findIndex((path, nth) => first[nth] !== null && identity(path) !== first[nth]);
    if (index === -1) return;
    clearInterval(timer);
    // New data may go to an unlinked file that disappears with the process.
    replaced(
      new AppError(
        'DATABASE_REPLACED',
        `${paths[index]} was replaced or removed while it was in use: events received since then may be lost. Restore the right file, start again, and check in readiness whether to replay events`,
      ),
    );
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

function identity(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}/${stats.ino}`;
}

/**
 * Creates an empty file, which is a database without tables. Never opens an existing one: closing it would release every
 * lock of this process on it, SQLite's too (POSIX: fcntl), and the next process would remove the log as unused.
 */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  // SQLite refuses a folder. This mode would close it to its owner.
  if (statSync(path).isFile()) chmodSync(path, 0o600);
}
