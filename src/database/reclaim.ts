/** Removes deleted data from SQLite's log. In the file, it has already been overwritten. */
import { setTimeout as delay } from 'node:timers/promises';
import { isBusy } from './errors.ts';
import { openWriter } from './handle.ts';
import { sqlitePath } from './open.ts';

/** The log can be emptied at a moment without readers and writers. There are many per second. */
const TRIES = 100;
const TRY_EVERY_MS = 50;

/** Empties the log, so that deleted data leaves the disk. Returns false if it was too busy. */
export async function emptyLog(databaseUrl: string, signal: AbortSignal): Promise<boolean> {
  const handle = openWriter(sqlitePath(databaseUrl));
  try {
    for (let tries = 0; tries < TRIES && !signal.aborted; tries += 1) {
      // Copies most of it without a lock, so that the lock is held only briefly.
      if (
        isCopied(handle.pragma('wal_checkpoint(PASSIVE)')) &&
        isEmptied(handle.pragma('wal_checkpoint(TRUNCATE)'))
      ) {
        return true;
      }
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

type Checkpoint = { busy: number; log: number; checkpointed: number };

function isCopied(result: unknown): boolean {
  const [{ log, checkpointed }] = result as [Checkpoint];
  return log === checkpointed;
}

function isEmptied(result: unknown): boolean {
  const [{ busy }] = result as [Checkpoint];
  return busy === 0;
}
