/** Removes deleted data from SQLite's log. In the file, it has already been overwritten. */
import { setTimeout as delay } from 'node:timers/promises';
import type BetterSqlite3 from 'better-sqlite3';
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

function checkpoint(handle: BetterSqlite3.Database, mode: 'PASSIVE' | 'TRUNCATE') {
  const [result] = handle.pragma(`wal_checkpoint(${mode})`) as [Checkpoint];
  return result;
}

type Checkpoint = { busy: number; log: number; checkpointed: number };
