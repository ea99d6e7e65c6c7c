/** Copies a SQLite database that is in use to one complete file. */
import { closeSync, fdatasyncSync, openSync, rmSync, statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { Kysely } from 'kysely';
import { moveInto, removeWithSuffixes, syncFile } from '../database/files.ts';
import { openReader } from '../database/handle.ts';
import { type BenefitsEnvironment, countDue } from '../database/migrate.ts';
import { openSqlite } from '../database/sqlite.ts';
import type { Db, Tables } from '../database/tables.ts';
import { AppError } from '../errors.ts';
import { type Newest, readNewest } from '../inbox/data-loss.ts';
import { type Head, readHead } from '../security/audit-chain.ts';

/** Pages copied per tick of the event loop: 4 MiB, a few milliseconds. */
const PAGES_AT_ONCE = 1_024;
/** If more copied bytes were in memory only, syncs of the log, which acknowledgements wait for, would queue after them. */
const UNSYNCED_BYTES = 16 * 1024 * 1024;

/**
 * Writes a copy of the database to a file, which appears under its name once it is complete, synced and checked. The
 * pages are copied in one read transaction while others write, so the copy shows one instant. Calls `copied` with the
 * bytes copied and their total. Throws BACKUP_FAILED, what the engine throws, and the signal's reason when it aborts.
 */
export async function backUp(
  path: string,
  file: string,
  on: { copied: (bytes: number, of: number) => void; signal: AbortSignal; environment: BenefitsEnvironment },
): Promise<{ bytes: number; newest: Newest; head: Head }> {
  const partial = `${file}.partial-${process.pid}`;
  try {
    await copyPages(path, partial, on);
    const contents = await withFile(partial, async (db, handle) => {
      assertWhole(handle, 'quick_check');
      await countDue(db, on.environment);
      return { newest: await readNewest(db), head: await readHead(db) };
    });
    // One file that can be opened anywhere without others next to it.
    foldLog(partial);
    syncFile(partial);
    // Files that a tool left next to an older file of that name would be taken for this one's.
    removeWithSuffixes(file);
    moveInto(partial, file);
    return { ...contents, bytes: statSync(file).size };
  } catch (error) {
    rmSync(partial, { force: true });
    removeWithSuffixes(partial);
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

/** Throws BACKUP_FAILED if the engine finds a damaged page or, with `integrity_check`, a wrong index. */
export function assertWhole(handle: BetterSqlite3.Database, how: 'quick_check' | 'integrity_check'): void {
  const finding = handle.pragma(`${how}(1)`, { simple: true }) as string;
  if (finding !== 'ok') throw new AppError('BACKUP_FAILED', `it is damaged: ${finding}`);
}

/** Opens a file that no other process uses, and closes it again. */
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
