/**
 * Returns free space in SQLite's file to the disk in small steps. Only a file with a map of its pages can shrink. The map
 * makes each write a little slower, so a file gets a map only if retention drops data.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type BetterSqlite3 from 'better-sqlite3';
import { engineOfUrl } from './engine.ts';
import { isBusy, isFatal, isUnavailable } from './errors.ts';
import { openWriter } from './handle.ts';
import { sqlitePath } from './open.ts';

/** Pages moved in one transaction: 512 KiB, which hold the write lock for 10 to 20 ms. */
const PAGES_AT_ONCE = 128;
/** The pause between two steps, in which deliveries are stored. */
const PAUSE_MS = 20;
/** A file of 16 MiB is rewritten within a few tenths of a second. */
const SMALL_PAGES = 4_096;
const INCREMENTAL = 2;

/** Rewrites a small file so that it can shrink, unless it is busy. The caller holds the serve lock. */
export function makeShrinkable(databaseUrl: string): void {
  if (engineOfUrl(databaseUrl) === 'postgres') return;
  const handle = openWriter(sqlitePath(databaseUrl));
  try {
    if (canShrink(handle) || count(handle, 'page_count') > SMALL_PAGES) return;
    setShrinkable(handle);
    handle.exec('VACUUM');
  } catch (error) {
    if (!isUnavailable(error) || isFatal(error)) throw error;
  } finally {
    handle.close();
  }
}

export function setShrinkable(handle: BetterSqlite3.Database): void {
  handle.pragma('auto_vacuum = INCREMENTAL');
}

export async function shrink(databaseUrl: string, signal: AbortSignal): Promise<void> {
  const handle = openWriter(sqlitePath(databaseUrl));
  try {
    if (!canShrink(handle)) return;
    while (count(handle, 'freelist_count') > 0 && !signal.aborted) {
      try {
        handle.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
      await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    handle.close();
  }
}

function canShrink(handle: BetterSqlite3.Database): boolean {
  return count(handle, 'auto_vacuum') === INCREMENTAL;
}

function count(handle: BetterSqlite3.Database, pragma: string): number {
  return handle.pragma(pragma, { simple: true }) as number;
}
