/** One SQLite handle, set up as the service needs it: a log, durable commits, no sleeping. */
import BetterSqlite3 from 'better-sqlite3';
import { isBusy, NotDurable } from './errors.ts';

/** How long opening waits, asleep, for a process that makes the file or recovers its log: done in milliseconds. */
const OPEN_WAIT_MS = 3_000;
/**
 * Pages of log after which the writer copies them into the file itself: 32,000 pages of 4 KiB are 128 MiB. A bound
 * only: another thread copies them long before (checkpoints.ts), but as long as as many come in as it copies, the log
 * does not start over. Then the writer must once a second, and all wait for it; with half the bound, twice as often.
 */
const CHECKPOINT_PAGES = 32_000;

/** The handle that writes. Throws when its commits would not be durable. */
export function openWriter(path: string): BetterSqlite3.Database {
  const writer = openHandle(path);
  // NORMAL, the driver's own choice for WAL, loses acknowledged events when the power fails.
  writer.pragma('synchronous = FULL');
  // Deleted and replaced data is overwritten with zeros in every page: see docs/retention.md.
  writer.pragma('secure_delete = ON');
  // SQLite checks them only for connections that ask for it.
  writer.pragma('foreign_keys = ON');
  writer.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  assertDurable(writer);
  return writer;
}

/** A handle that can only read. */
export function openReader(path: string): BetterSqlite3.Database {
  const reader = openHandle(path);
  reader.pragma('query_only = ON');
  return reader;
}

/** A handle on a file with a write-ahead log, that from now on never sleeps: its callers wait without blocking. */
function openHandle(path: string): BetterSqlite3.Database {
  const handle = new BetterSqlite3(path, { timeout: OPEN_WAIT_MS });
  const deadline = performance.now() + OPEN_WAIT_MS;
  for (;;) {
    try {
      handle.pragma('journal_mode = WAL');
      handle.pragma('busy_timeout = 0');
      return handle;
    } catch (error) {
      // Of two that make a new file, SQLite refuses one at once instead of letting it wait.
      if (isBusy(error) && performance.now() < deadline) continue;
      handle.close();
      throw error;
    }
  }
}

/** Throws unless a commit is on the disk when it returns: WAL and FULL, read back from the engine. */
export function assertDurable(handle: BetterSqlite3.Database): void {
  const journal = handle.pragma('journal_mode', { simple: true });
  const synchronous = handle.pragma('synchronous', { simple: true });
  if (journal !== 'wal' || synchronous !== 2) {
    throw new NotDurable(
      `the database is not durable: journal_mode=${journal}, synchronous=${synchronous}; it needs wal and 2 (FULL). ` +
        'Put the file on a local disk whose file system supports shared memory.',
    );
  }
}
