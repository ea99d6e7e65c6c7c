import type BetterSqlite3 from 'better-sqlite3';
import { isFatal } from './errors.ts';
import { openWriter } from './handle.ts';
import { sqlitePath } from './open.ts';

/** How often the log is looked at, which reads two numbers: while something waits in it, and while nothing does. */
const LOOK_EVERY_MS = { waiting: 50, empty: 250 };
/** How long something waits at most: each copy syncs the log and the file, so a slow stream has few of them. */
const COPIED_AFTER_MS = 250;
/**
 * Pages, 2 MiB of them, that wait no longer: who commits while the file is synced waits for the disk, the longer the more is
 * copied at once.
 */
const MANY_PAGES = 500;
/** The log starts over only when a pass ends with nothing new behind it: under load the second or third one does. */
const PASSES = 3;

/**
 * Copies the log into the database file from this thread, so that the thread that acknowledges never has to:
 * a checkpoint writes thousands of pages and syncs twice. It never blocks a writer. Answers how to stop.
 * `onFatal` is told when the storage failed in a way that no retry mends.
 */
export function startCheckpoints(databaseUrl: string, onFatal: (error: unknown) => void): () => void {
  const handle = openWriter(sqlitePath(databaseUrl));
  const stop = (): void => {
    clearTimeout(timer);
    handle.close();
  };
  let since: number | null = null;
  const look = (): void => {
    try {
      const waiting = pagesToCopy(handle);
      const now = performance.now();
      since = waiting === 0 ? null : (since ?? now);
      if (since !== null && (waiting >= MANY_PAGES || now - since >= COPIED_AFTER_MS)) {
        checkpoint(handle);
        since = null;
      }
      timer = setTimeout(look, waiting === 0 ? LOOK_EVERY_MS.empty : LOOK_EVERY_MS.waiting);
    } catch (error) {
      // A full disk or another checkpoint: the next time will do, and the writer has its own bound.
      timer = setTimeout(look, LOOK_EVERY_MS.empty);
      if (!isFatal(error)) return;
      stop();
      onFatal(error);
    }
  };
  let timer = setTimeout(look, LOOK_EVERY_MS.empty);
  return stop;
}

function pagesToCopy(handle: BetterSqlite3.Database): number {
  const { log, checkpointed } = pagesOf(handle, 'NOOP');
  return log - checkpointed;
}

function checkpoint(handle: BetterSqlite3.Database): void {
  for (let pass = 0; pass < PASSES; pass += 1) {
    const { log, checkpointed } = pagesOf(handle, 'PASSIVE');
    if (log === checkpointed) return;
  }
}

/** Pages of the log, and how many of them are in the file; `NOOP` only looks. */
function pagesOf(
  handle: BetterSqlite3.Database,
  mode: 'NOOP' | 'PASSIVE',
): { log: number; checkpointed: number } {
  const [row] = handle.pragma(`wal_checkpoint(${mode})`) as [{ log: number; checkpointed: number }];
  return row;
}
