/**
 * Which database errors mean what, in one table. An error of the engine says nothing against the event or the
 * request that was being handled: that work is tried again. An error of the content does.
 */

/** The write lock could not be had in time; nothing was done. */
export class LockTimeout extends Error {
  readonly code = 'LOCK_TIMEOUT';
  constructor(waitedMs: number) {
    super(`another connection held the database's write lock for ${waitedMs} ms; nothing was written`);
  }
}

/** `db` was used where a transaction is open, instead of its `trx`: it would wait for ever or read old rows. */
export class UsedOutsideTransaction extends Error {
  readonly code = 'USED_OUTSIDE_TRANSACTION';
  constructor() {
    super('the database was used inside a transaction: pass on its trx instead');
  }
}

/** The engine ended the transaction by itself, because of an error that the work caught; nothing was written. */
export class RolledBack extends Error {
  readonly code = 'ROLLED_BACK';
  constructor() {
    super('the database rolled the transaction back because of an error before; nothing was written');
  }
}

// After a failed write or fsync the state of the file cache is unknown, and a damaged file must not be written
// further: the process ends and the next start recovers from the log.
const FATAL = /^SQLITE_(IOERR|CORRUPT|NOTADB)/;
// A full disk shows itself here too, where the shared-memory file beside the log can't grow; it heals.
const HEALS = new Set(['SQLITE_IOERR_SHMSIZE', 'SQLITE_IOERR_SHMOPEN', 'SQLITE_IOERR_SHMMAP']);
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|CANTOPEN|READONLY|NOMEM|PROTOCOL|IOERR|CORRUPT|NOTADB)/;

/** True when the process must end: the storage failed in a way that a retry can't mend. */
export function isFatal(error: unknown): boolean {
  const code = codeOf(error);
  return FATAL.test(code) && !HEALS.has(code);
}

/** True when the engine could not do its work now, whatever the content was. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof LockTimeout || error instanceof RolledBack || UNAVAILABLE.test(codeOf(error));
}

/** True when another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY');
}

/** The engine's own code of an error, or '' when it has none; safe to log. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
