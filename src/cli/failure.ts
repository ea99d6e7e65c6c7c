/** Failures in one line: what happened and what to do next. */
import { NoResultError } from 'kysely';
import { describe } from '../contract/check.ts';
import type { Environment } from '../environment.ts';
import { CodedError, type ErrorDetails, isAppError, isCodedError, type Problem } from '../errors.ts';
import { type Output, printable } from './output.ts';

type CommandCode = 'WRONG_USAGE' | 'COMMAND_FAILED' | 'NOT_ANSWERED';

/** The exit codes of a command that failed. Success is 0. */
export const EXIT_CODES: Readonly<Record<CommandCode, number>> = {
  WRONG_USAGE: 2,
  COMMAND_FAILED: 1,
  NOT_ANSWERED: 1,
};

/** A command was called incorrectly, or cannot do what it should. */
export class CommandError extends CodedError<CommandCode> {}

/** Returns the exit code for any error. */
export function exitCodeOf(error: unknown): number {
  return EXIT_CODES[error instanceof CommandError ? error.code : 'COMMAND_FAILED'];
}

/** Returns the error of a command that cannot do what it should: `message` states why and what to do. */
export function failed(message: string, details: ErrorDetails = {}): CommandError {
  return new CommandError('COMMAND_FAILED', printable(message), details);
}

/** Returns the error of a sidecar that did not answer, and may later. */
export function unanswered(message: string): CommandError {
  return new CommandError('NOT_ANSWERED', printable(message));
}

/** Returns the error of an id that names nothing. */
export function unknownId(what: string, id: string, list: string): CommandError {
  return failed(`there is no ${what} ${id}: find it with "benefits-sidecar ${list}"`);
}

/** Returns the error of a command that was called incorrectly. */
export function wrongUsage(message: string, problems: readonly Problem[] = []): CommandError {
  return new CommandError('WRONG_USAGE', printable(message), { problems });
}

/** Returns the error of a command for an error of a function that the API calls too: its parameters are options here. */
export function usageOf(error: unknown): unknown {
  if (!isAppError(error, 'INVALID_REQUEST')) return error;
  const problems = error.problems.map((problem) => ({ ...problem, path: `--${problem.path}` }));
  return wrongUsage('options are missing or wrong', problems);
}

/** For `.catch`: replaces the error with this message if the command was stopped. */
export function ifStopped(signal: AbortSignal, message: string): (error: unknown) => never {
  return (error) => {
    throw signal.aborted ? failed(message) : error;
  };
}

type Failure = Error & { code?: unknown; path?: unknown; address?: unknown; port?: unknown };

/** Most disk failures leave the file intact: a read failed, or a log that the next start recovers. */
const AFTER_DISK_FAILURE =
  'check the disk, start again and run "benefits-sidecar verify", which names lost events to replay; restore a backup only if it reports differences';

/** Advice for errors of the system or the engine, whose messages have none. `{…}` is replaced by a field of the error. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: '{path} does not exist: check the path',
  EACCES: 'no permission for {path}: check who owns it and who runs this command',
  EPERM: 'no permission for {path}: check who owns it and who runs this command',
  EISDIR: '{path} is a folder: give a file',
  ENOTDIR: '{path} is not a folder: check the path',
  EROFS: '{path} is on a read-only file system: move it to a writable one',
  ENOSPC: 'the disk is full: free some space and try again',
  EADDRINUSE: '{address} is in use by another process: stop that process, or choose another port',
  EADDRNOTAVAIL: '{address} is not an address of this machine: check the host',
  ECONNREFUSED: 'nothing listens at {address}: start it, or check the address',
  ENOTFOUND: 'the host name has no address: check it',
  LOCK_TIMEOUT: 'the database was busy too long and nothing was written: try again',
  SQLITE_CANTOPEN:
    'the database cannot be opened: check DATABASE_URL and the owner of the file and its folder',
  SQLITE_READONLY: 'the database is not writable: check the owner of the file and its folder',
  SQLITE_NOTADB: `the file of DATABASE_URL is not a database: check the path. If the path is right, ${AFTER_DISK_FAILURE}`,
  SQLITE_CORRUPT: `reading the database failed: ${AFTER_DISK_FAILURE}`,
  SQLITE_FULL: 'the disk is full: free some space and try again',
  SQLITE_IOERR_GETTEMPPATH: 'there is no folder for temporary files: set SQLITE_TMPDIR to a writable folder',
  SQLITE_IOERR: `reading or writing the database failed: ${AFTER_DISK_FAILURE}`,
  '25006': 'the database is read-only now: try again, and check that DATABASE_URL leads to the primary',
  '25P03':
    'the database server ended an idle transaction: raise its idle_in_transaction_session_timeout, or try again if this process hung',
  '25P04':
    'the database server ended a transaction by its transaction_timeout: set it to 0 for the user of DATABASE_URL ("ALTER ROLE … SET transaction_timeout = 0")',
  '28P01': 'the database refused the user or the password of DATABASE_URL: check both',
  '28000':
    'the database refused the user of DATABASE_URL: check it, and whether the server requires TLS (sslmode=require)',
  '3D000': 'the database of DATABASE_URL (or of --to) does not exist on the server: create it',
  '42501': 'the user of DATABASE_URL lacks a permission: make it the owner of the database or its schema',
  '53300': 'the database server has no free connection: raise max_connections, or run fewer sidecars',
  '57P01': 'the database server was stopped or ended the connection: try again',
  '57P02': 'the database server stopped after a failure: try again, and check its log',
  '57P03': 'the database server is starting, stopping or recovering: try again',
  '55P03': 'another transaction held a lock too long and nothing was written: try again',
  SQLITE_BUSY: 'the database is in use by another process: try again',
};

const ROW_MISSING =
  'a row that every database has is missing, so the database was altered: restore a backup, and find out who altered it';

/** Advice for our own messages that name only the problem. */
const REMEDY: Readonly<Record<string, string>> = {
  CONFIG: '"benefits-sidecar doctor" checks every variable',
};

/** Errors of JavaScript itself, whose messages may quote data. */
const UNQUOTED = new Set(['TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'URIError']);

/** Prints a failure in one line, and one for each of several problems. LOG_LEVEL=debug adds the stack. */
export function printFailure(out: Output, env: Environment, error: unknown): void {
  const what = `benefits-sidecar: ${printable(describeFailure(error))}`;
  const { problems: named, problemCount } = isCodedError(error) ? error : { problems: [], problemCount: 0 };
  const problems = named.map((problem) => printable(describe(problem)));
  if (problemCount > problems.length) problems.push(`… and ${problemCount - problems.length} more`);
  if (problems.length === 1 && what.endsWith(`: ${problems[0]}`)) out.note(what);
  else if (problems.length < 2) out.note([what, ...problems].join(': '));
  else for (const line of [`${what}:`, ...problems.map((problem) => `  ${problem}`)]) out.note(line);
  if (error instanceof Error && env.LOG_LEVEL === 'debug') out.note(error.stack ?? '');
}

export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure: set LOG_LEVEL=debug to see where';
  if (error instanceof NoResultError) return ROW_MISSING;
  const failure: Failure = error;
  const code = typeof failure.code === 'string' ? failure.code : '';
  const advice = ADVICE[code] ?? ADVICE[code.replace(/^(SQLITE_[A-Z]+)_.*/, '$1')];
  if (advice !== undefined) return fill(advice, failure);
  if (UNQUOTED.has(failure.name)) return `unexpected ${failure.name}: set LOG_LEVEL=debug to see where`;
  const [line = ''] = failure.message.split('\n');
  const remedy = REMEDY[code];
  return remedy === undefined ? line : `${line}: ${remedy}`;
}

function fill(advice: string, { path, address, port }: Failure): string {
  const file = typeof path === 'string' ? path : 'a file';
  const host = typeof address === 'string' ? address : 'the address';
  const where = port === undefined ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return advice.replace('{path}', file).replace('{address}', where);
}
