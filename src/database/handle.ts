/** Opens SQLite handles with a write-ahead log, durable commits, and no blocking wait for locks. */
import BetterSqlite3 from 'better-sqlite3';
import { AppError } from '../errors.ts';
import { isBusy } from './errors.ts';

/** How long opening blocks for a process that creates the file or recovers its log, which takes milliseconds. */
const OPEN_WAIT_MS = 3_000;
/**
 * Pages in the log after which the writer copies them into the file itself: 128 MiB. Normally another thread copies
 * them long before (checkpoints.ts). If pages are added as fast as they are copied, the log does not start over, and
 * the writer copies about once a second while all others wait; half the bound would double that.
 */
const CHECKPOINT_PAGES = 32_000;

export function openWriter(path: string): BetterSqlite3.Database {
  const writer = openHandle(path);
  // NORMAL, the driver's own choice for WAL, loses acknowledged events when the power fails.
  writer.pragma('synchronous = FULL');
  // Deleted and replaced data is overwritten with zeros in every page: see docs/backup.md#retention.
  writer.pragma('secure_delete = ON');
  // SQLite checks them only for connections that ask for it.
  writer.pragma('foreign_keys = ON');
  // Without it, REPLACE removes a row and fires no trigger that protects the row.
  writer.pragma('recursive_triggers = ON');
  writer.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  assertDurable(writer);
  return writer;
}

export function openReader(path: string): BetterSqlite3.Database {
  const reader = openHandle(path);
  reader.pragma('query_only = ON');
  return reader;
}

/** Opens a file with a write-ahead log. Afterward the handle never blocks for a lock: its callers retry. */
function openHandle(path: string): BetterSqlite3.Database {
  const handle = new BetterSqlite3(path, { timeout: OPEN_WAIT_MS });
  const deadline = performance.now() + OPEN_WAIT_MS;
  for (;;) {
    try {
      handle.pragma('journal_mode = WAL');
      handle.pragma('busy_timeout = 0');
      assertUtf8(handle);
      return handle;
    } catch (error) {
      // If two processes create a file, SQLite refuses one at once instead of letting it wait.
      if (isBusy(error) && performance.now() < deadline) continue;
      handle.close();
      throw error;
    }
  }
}

/** Throws for a file that another program made in UTF-16, which sorts in another order. */
function assertUtf8(handle: BetterSqlite3.Database): void {
  const encoding = handle.pragma('encoding', { simple: true });
  if (encoding === 'UTF-8') return;
  const remedy = 'set DATABASE_URL to a path without a file, and the sidecar creates one';
  throw new AppError('NOT_UTF8', `the encoding of the database is ${encoding}, not UTF8: ${remedy}`);
}

/** Throws unless a commit is on the disk when it returns: WAL and FULL, read back from the engine. */
export function assertDurable(handle: BetterSqlite3.Database): void {
  const journal = handle.pragma('journal_mode', { simple: true });
  const synchronous = handle.pragma('synchronous', { simple: true });
  if (journal !== 'wal' || synchronous !== 2) {
    throw new AppError(
      'NOT_DURABLE',
      `the database is not durable: journal_mode=${journal}, synchronous=${synchronous}; it needs wal and 2 (FULL). ` +
        'Move the file to a local disk whose file system supports shared memory.',
    );
  }
}
