import { closeSync, fdatasyncSync, openSync, rmSync, statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { Kysely } from 'kysely';
import { moveInto, removeBeside, syncFile } from '../database/files.ts';
import { openReader } from '../database/handle.ts';
import { countDue, type Environment } from '../database/migrate.ts';
import { type Newest, readNewest } from '../database/newest.ts';
import { openSqlite } from '../database/sqlite.ts';
import type { Db, Tables } from '../database/tables.ts';

/** One whole file of a SQLite database that is in use, of one moment. */

/** Pages copied before others of this process have their turn: 4 MiB, some milliseconds. */
const PAGES_AT_ONCE = 1_024;
/**
 * Copied pages that may be in memory only. Left to itself the system writes them all at the end, and each sync of the
 * log, which acknowledgements wait for, would wait behind hundreds of megabytes.
 */
const UNSYNCED_BYTES = 16 * 1024 * 1024;

/** The backup failed or is incomplete, and nothing was left behind. The message states what to do. */
export class BackupFailed extends Error {
  readonly code = 'BACKUP_FAILED';
}

export type BackedUp = { bytes: number; tail: Newest };

/**
 * Writes a copy of the database as it is now to a file, which appears under its name when it is whole, synced and
 * checked. The pages are copied inside one read transaction, beside whoever writes, so that they are of one moment,
 * however many steps it takes. `copied` is told how many of how many bytes are done. Throws `BackupFailed`, what the
 * engine throws, and when `signal` aborts.
 */
export async function backUp(
  path: string,
  file: string,
  on: { copied: (bytes: number, of: number) => void; signal: AbortSignal; environment: Environment },
): Promise<BackedUp> {
  const partial = `${file}.partial-${process.pid}`;
  try {
    await copyPages(path, partial, on);
    const tail = await check(partial, on.environment);
    // One file that can be opened anywhere without others next to it.
    foldLog(partial);
    syncFile(partial);
    // Files that a tool left next to an older file of that name would be taken for this one's.
    removeBeside(file);
    moveInto(partial, file);
    return { tail, bytes: statSync(file).size };
  } catch (error) {
    rmSync(partial, { force: true });
    removeBeside(partial);
    throw error;
  }
}

async function copyPages(
  path: string,
  partial: string,
  { copied, signal }: Parameters<typeof backUp>[2],
): Promise<void> {
  const opened = openSync(partial, 'wx', 0o600);
  const source = openReader(path);
  try {
    const pageBytes = source.pragma('page_size', { simple: true }) as number;
    source.exec('BEGIN');
    // Only a read begins the transaction. Later commits are not in the copy.
    source.prepare('SELECT count(*) FROM sqlite_schema').get();
    let synced = 0;
    await source.backup(partial, {
      progress: ({ totalPages, remainingPages }) => {
        signal.throwIfAborted();
        const bytes = (totalPages - remainingPages) * pageBytes;
        if (bytes - synced >= UNSYNCED_BYTES) {
          fdatasyncSync(opened);
          synced = bytes;
        }
        copied(bytes, totalPages * pageBytes);
        return PAGES_AT_ONCE;
      },
    });
  } finally {
    source.close();
    closeSync(opened);
  }
}

/** Whether what was written is a whole database of this program and of this environment, by reading all of it. */
async function check(partial: string, environment: Environment): Promise<Newest> {
  return withFile(partial, async (db, handle) => {
    assertWhole(handle, 'quick_check');
    await countDue(db, environment);
    return readNewest(db);
  });
}

/** Throws `BackupFailed` unless the engine finds every page as it must be; with `integrity_check` indexes too. */
export function assertWhole(handle: BetterSqlite3.Database, how: 'quick_check' | 'integrity_check'): void {
  const found = handle.pragma(`${how}(1)`, { simple: true }) as string;
  if (found !== 'ok') throw new BackupFailed(`it is damaged: ${found}`);
}

/** Opens a file as a database that no other process uses, and closes it again. */
export async function withFile<R>(
  path: string,
  work: (db: Db, handle: BetterSqlite3.Database) => Promise<R>,
): Promise<R> {
  const { dialect, writer } = openSqlite(path);
  const db = new Kysely<Tables>({ dialect });
  try {
    return await work(db, writer);
  } finally {
    await db.destroy();
  }
}

/** Checkpoints the log into the file and removes it. Throws if another process has the file open. */
export function foldLog(path: string): void {
  const handle = new BetterSqlite3(path, { fileMustExist: true, timeout: 0 });
  try {
    handle.pragma('journal_mode = DELETE');
  } finally {
    handle.close();
  }
}
