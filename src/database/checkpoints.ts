import type BetterSqlite3 from 'better-sqlite3';
import { openWriter } from './handle.ts';
import { sqlitePath } from './open.ts';

/** Often enough that each time copies little, and the log stays at some megabytes. */
const EVERY_MS = 250;
/** The log starts over only when a pass ends with nothing new behind it: under load the second or third one does. */
const PASSES = 3;

/**
 * Copies the log into the database file from this thread, so that the thread that acknowledges never has to:
 * a checkpoint writes thousands of pages and syncs twice. It never blocks a writer. Answers how to stop.
 */
export function startCheckpoints(databaseUrl: string): () => void {
  const handle = openWriter(sqlitePath(databaseUrl));
  const timer = setInterval(() => checkpoint(handle), EVERY_MS);
  return () => {
    clearInterval(timer);
    handle.close();
  };
}

function checkpoint(handle: BetterSqlite3.Database): void {
  for (let pass = 0; pass < PASSES; pass += 1) {
    try {
      const [{ log, checkpointed }] = handle.pragma('wal_checkpoint(PASSIVE)') as [
        { log: number; checkpointed: number },
      ];
      if (log === checkpointed) return;
    } catch {
      // A full disk or another checkpoint: the next time will do, and the writer has its own bound.
      return;
    }
  }
}
