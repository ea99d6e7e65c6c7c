import { chmodSync, closeSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { Kysely } from 'kysely';
import { engineOfUrl } from './engine.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';
import type { Db, Tables } from './tables.ts';

/** The path of a `sqlite:` address, absolute. */
export function sqlitePath(databaseUrl: string): string {
  return resolve(databaseUrl.slice('sqlite:'.length));
}

/**
 * Opens the database of `DATABASE_URL`. On SQLite an empty one (readable by its owner only) is made where there is
 * none, and it throws when the file can't be opened or is not durable; on PostgreSQL the first use does. The caller
 * destroys it.
 */
export function openDatabase(databaseUrl: string): Db {
  if (engineOfUrl(databaseUrl) === 'postgres') {
    return new Kysely<Tables>({ dialect: openPostgres(databaseUrl) });
  }
  const path = sqlitePath(databaseUrl);
  // Before SQLite opens it: the log and the shared memory that it makes beside the file get the file's mode.
  makeFile(path);
  const { dialect } = openSqlite(path);
  return new Kysely<Tables>({ dialect });
}

/** Held until they are let go: a handle that nobody refers to is collected, and its lock with it. */
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
  const named = sqlitePath(databaseUrl);
  makeFile(named);
  // One database has one lock, whatever link it is reached by.
  const path = realpathSync(named);
  makeFile(`${path}-serve`);
  const lock = new BetterSqlite3(`${path}-serve`, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new AlreadyServed(
      `another process already serves ${path}: stop it, or give this one a DATABASE_URL of its own`,
    );
  }
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
}

/** An empty file is a database without tables. */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}
