/** Classifies database errors. After an error of the engine, not of the content, the work is retried. */
import { AppError, codeOf, type ErrorCode, isAppError } from '../errors.ts';

export function rolledBack(): AppError {
  return new AppError(
    'ROLLED_BACK',
    'the database rolled the transaction back after an earlier error; nothing was written',
  );
}

export function databaseDamaged(path: string, how: string): AppError {
  return new AppError(
    'DATABASE_DAMAGED',
    `${path} was changed by something other than this program and is ${how}: check the disk and what else writes there, start again and run "benefits-sidecar verify", which names lost events to replay; restore a backup only if it reports differences`,
  );
}

/** `error` is what the driver reported. */
export function connectionLost(error: unknown): AppError {
  // A host with several addresses fails with one error for all of them, which has a code and no message.
  const reason = error instanceof Error ? error.message || codeOf(error) : '';
  const remedy = 'check the host and port of DATABASE_URL (or of --to), and that the server is running';
  const lost = `the database server cannot be reached: ${reason || 'no response'}: ${remedy}`;
  return new AppError('CONNECTION_LOST', lost, { cause: error });
}

export function notReplicated(): AppError {
  return new AppError(
    'NOT_REPLICATED',
    'the database server committed without its synchronous standby, so a failover could lose what was written: check that a standby is connected, then check whether the change is stored, or send it again',
  );
}

const OWN = [
  ...['LOCK_TIMEOUT', 'ROLLED_BACK', 'CONNECTION_LOST', 'NOT_REPLICATED', 'READ_ONLY', 'NOT_UTF8'],
  ...['NOT_DURABLE', 'DATABASE_DAMAGED'],
] as readonly ErrorCode[];

// After a failed write or fsync the file cache is unknown, so the process ends and the next start recovers.
const FATAL = /^(SQLITE_(IOERR|CORRUPT|NOTADB)|DATABASE_DAMAGED$)/;
// A full disk also fails these, because the shared-memory file next to the log can't grow; that is not permanent. A
// large sort fails if no folder is writable for its temporary file, which is no damage either.
const HEALS = /^SQLITE_IOERR_(SHM(SIZE|OPEN|MAP)|GETTEMPPATH)$/;
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|CANTOPEN|READONLY|NOMEM|PROTOCOL|IOERR|CORRUPT|NOTADB)/;

const SQL_STATE = /^[0-9A-Z]{5}$/;
/** PostgreSQL's classes of errors of data, integrity, limits, and our triggers. */
const OF_CONTENT = /^(22|23|54|P0)/;
const DEADLOCK = '40P01';
const NOT_SERIALIZABLE = '40001';
const STALE_PLAN = '0A000';
/** A prepared statement is unknown, or exists already: a proxy switched to another server connection. */
const ELSEWHERE = ['26000', '42P05'];
const QUERY_CANCELED = '57014';
const FAILED_BEFORE = '25P02';
const READ_ONLY = '25006';
/**
 * This server does not serve this connection any more: the connection failed, the server refuses writes, it ended a
 * transaction that took too long, or it stops or starts. A proxy may report these without ending the connection.
 */
const NOT_HERE = /^(08...|25006|25P03|25P04|57P0.)$/;

/** Returns true if the process must end because the storage failed in a way that no retry can fix. */
export function isFatal(error: unknown): boolean {
  const code = codeOf(error);
  return FATAL.test(code) && !HEALS.test(code);
}

/** Returns true if the engine failed for a reason other than the content. */
export function isUnavailable(error: unknown): boolean {
  if (isAppError(error, ...OWN)) return true;
  if (isOfPostgres(error)) return !OF_CONTENT.test(codeOf(error));
  return UNAVAILABLE.test(codeOf(error));
}

/** Returns true if the same transaction is likely to succeed at once, because only another one blocked it. */
export function isWorthAnotherTry(error: unknown): boolean {
  return hasCode(error, DEADLOCK, NOT_SERIALIZABLE, STALE_PLAN, ...ELSEWHERE);
}

export function isPreparedElsewhere(error: unknown): boolean {
  return hasCode(error, ...ELSEWHERE);
}

/** Returns true if a statement was prepared before a newer release changed its tables. */
export function isStalePlan(error: unknown): boolean {
  return hasCode(error, STALE_PLAN);
}

/** Returns true if PostgreSQL ended the connection, or would only refuse more on it. */
export function endsConnection(error: { code: string; severity: string }): boolean {
  return /^(FATAL|PANIC)$/.test(error.severity) || NOT_HERE.test(error.code);
}

/** Returns true for an error of a commit that the server may have done before it ended the connection. */
export function mayHaveCommitted(error: unknown): boolean {
  return isOfPostgres(error) && endsConnection(error) && !error.code.startsWith('25');
}

export function isReadOnly(error: unknown): boolean {
  return hasCode(error, READ_ONLY);
}

/** Returns true for a statement after one that failed in the same transaction. */
export function hasFailedBefore(error: unknown): boolean {
  return hasCode(error, FAILED_BEFORE);
}

export function isStatementTimeout(error: unknown): boolean {
  return hasCode(error, QUERY_CANCELED);
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return isOfPostgres(error) && codes.includes(error.code);
}

/** Returns whether PostgreSQL itself responded with this error, rather than the connection to it failing. */
export function isOfPostgres(error: unknown): error is { code: string; severity: string } {
  // Node's own errors may have a code of five letters too (EPIPE), but no severity.
  return SQL_STATE.test(codeOf(error)) && typeof (error as { severity?: unknown }).severity === 'string';
}

export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY');
}

export type NotReady = 'locked' | 'disk-full' | 'unreachable' | 'read-only' | 'failed';

/** The engines' own codes. Any other is reported as failed, and the caller logs its code. */
const CODES: readonly (readonly [RegExp, NotReady])[] = [
  [/^SQLITE_(BUSY|LOCKED)/, 'locked'],
  // A full disk also shows as a failure of the shared memory next to the log.
  [/^(SQLITE_FULL|SQLITE_IOERR_SHM(SIZE|OPEN|MAP)|53100)$/, 'disk-full'],
  [/^(SQLITE_READONLY.*|READ_ONLY|25006)$/, 'read-only'],
  [/^(57P0[123]|53300)$/, 'unreachable'],
];

export function notReadyReason(error: unknown): NotReady {
  if (isAppError(error, 'LOCK_TIMEOUT')) return 'locked';
  if (isAppError(error, 'CONNECTION_LOST')) return 'unreachable';
  return CODES.find(([code]) => code.test(codeOf(error)))?.[1] ?? 'failed';
}
