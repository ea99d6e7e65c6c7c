import { setTimeout as delay } from 'node:timers/promises';
import type BetterSqlite3 from 'better-sqlite3';
import { isBusy, isFatal } from './errors.ts';
import { createFileGuard } from './file-guard.ts';
import { openWriter } from './handle.ts';
import { sqlitePath } from './open.ts';

/** A shorter interval copies the same pages more often; a longer one makes commits wait longer for the disk. */
const EVERY_MS = 250;
/** The log starts over only after a pass during which nothing was added: under load, the second or third. */
const PASSES = 3;

/** The log can be emptied at a moment without readers and writers. There are many per second. */
const TRIES = 100;
const TRY_EVERY_MS = 50;

/**
 * Copies the log into the database file from this thread, so that the thread that acknowledges never has to:
 * a checkpoint writes thousands of pages and syncs twice. It never blocks a writer. Returns a function that stops it.
 * Calls `onFatal` if the storage failed in a way that no retry can fix.
 */
export function startCheckpoints(databaseUrl: string, onFatal: (error: unknown) => void): () => void {
  const handle = openWriter(sqlitePath(databaseUrl));
  const guard = createFileGuard(sqlitePath(databaseUrl), handle);
  const stop = (): void => {
    clearTimeout(timer);
    guard.close();
    handle.close();
  };
  const copy = (): void => {
    try {
      guard.assertFile();
      // Where the log was cut and has grown again, SQLite would copy zeros into the file.
      for (let pass = 0; pass < PASSES && guard.canCopy(); pass += 1) {
        checkpoint(handle, 'PASSIVE');
        // Counted again, because the result of a pass leaves out the pages that were added during it.
        if (guard.isCopied()) break;
      }
    } catch (error) {
      // After a full disk or another checkpoint, the next pass retries. The writer has its own bound.
      if (isFatal(error)) {
        stop();
        onFatal(error);
        return;
      }
    }
    timer = setTimeout(copy, EVERY_MS);
  };
  let timer = setTimeout(copy, EVERY_MS);
  return stop;
}

/** Empties the log, so that data that was deleted from the file leaves the disk. Returns false if it was too busy. */
export async function emptyLog(databaseUrl: string, signal: AbortSignal): Promise<boolean> {
  const handle = openWriter(sqlitePath(databaseUrl));
  try {
    for (let tries = 0; tries < TRIES && !signal.aborted; tries += 1) {
      // Copies most of it without a lock, so that the lock is held only briefly.
      const { log, checkpointed } = checkpoint(handle, 'PASSIVE');
      if (log === checkpointed && checkpoint(handle, 'TRUNCATE').busy === 0) return true;
      await delay(TRY_EVERY_MS, undefined, { signal }).catch(() => {});
    }
    return false;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  } finally {
    handle.close();
  }
}

/** Pages of the log, and how many of them are in the file. */
type Checkpoint = { busy: number; log: number; checkpointed: number };

function checkpoint(handle: BetterSqlite3.Database, mode: 'PASSIVE' | 'TRUNCATE'): Checkpoint {
  return (handle.pragma(`wal_checkpoint(${mode})`) as [Checkpoint])[0];
}
