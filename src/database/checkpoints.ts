import type BetterSqlite3 from 'better-sqlite3';
import { isFatal } from './errors.ts';
import { FileGuard } from './file-guard.ts';
import { openWriter } from './handle.ts';
import { sqlitePath } from './open.ts';

/** A shorter interval copies the same pages more often; a longer one makes commits wait longer for the disk. */
const EVERY_MS = 250;
/** The log restarts only after a pass that finds no new pages. Under load, the second or third pass does. */
const PASSES = 3;

/**
 * Copies the log into the database file from this thread, so that the thread that acknowledges never has to:
 * a checkpoint writes thousands of pages and syncs twice. It never blocks a writer. Returns a function that stops it.
 * Calls `onFatal` if the storage failed in a way that no retry can fix.
 */
export function startCheckpoints(databaseUrl: string, onFatal: (error: unknown) => void): () => void {
  const handle = openWriter(sqlitePath(databaseUrl));
  const guard = new FileGuard(sqlitePath(databaseUrl), handle);
  const stop = (): void => {
    clearTimeout(timer);
    guard.close();
    handle.close();
  };
  const copy = (): void => {
    try {
      guard.assertFile();
      checkpoint(handle, guard);
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

function checkpoint(handle: BetterSqlite3.Database, guard: FileGuard): void {
  for (let pass = 0; pass < PASSES; pass += 1) {
    // SQLite would copy zeros into the file where the log was cut and has grown again.
    if (!guard.canCopy()) return;
    // Pages of the log, and how many of them are in the file.
    const [{ log, checkpointed }] = handle.pragma('wal_checkpoint(PASSIVE)') as [
      { log: number; checkpointed: number },
    ];
    if (log === checkpointed) return;
  }
}
