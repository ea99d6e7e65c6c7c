/**
 * The errors of the domain. Callers recognize an error by its code, which survives messages between threads. The API and
 * the command line extend `CodedError` with codes of their own (`api/problem.ts`, `cli/failure.ts`).
 */

/**
 * A broken rule. `path` names the field (`employees[17].address.state`, '' for the whole), never its value. Only `hint` may
 * hold a value: it is for the caller who sent it, so a problem is stored and logged without it.
 */
export type Problem = { path: string; rule: string; hint?: string };

/** Returns a problem as it may be stored. */
export function withoutHint({ path, rule }: Problem): Problem {
  return { path, rule };
}

/** Returns `1 deduction`, `2 deductions`. */
export function counted(count: number | bigint, noun: string, plural = `${noun}s`): string {
  return `${count} ${Number(count) === 1 ? noun : plural}`;
}

/** Returns the first `most` ids for an error, and how many more there are. */
export function firstIds(ids: readonly string[], most: number): string {
  const more = ids.length > most ? `, and ${ids.length - most} more` : '';
  return `${ids.slice(0, most).join(', ')}${more}`;
}

export const ERROR_CODES = [
  /** A parameter of the caller is wrong; `problems` names it. */
  'INVALID_REQUEST',
  /** The payroll run cannot be computed. */
  'RUN_REFUSED',
  /** Regular runs of a frequency and year have a group, or none has. */
  'RUN_GROUPS_MIXED',
  /** A pay schedule must keep the pay date of a finalized run. */
  'SCHEDULE_IN_USE',
  /** A pay schedule leaves no date that takes what is left of the year. */
  'SCHEDULE_LEAVES_REST',
  /** A limited caller names employees who are active at another employer; `problems` names the rows. */
  'EMPLOYEE_ELSEWHERE',
  /** The employment change breaks the contract. */
  'CHANGE_REFUSED',
  /** A table contains invalid rows. */
  'ROWS_REFUSED',
  /** What is outstanding of an open item is not what was reviewed. */
  'ITEM_CHANGED',
  /** The open items cannot be decided so. */
  'DECISION_REFUSED',
  /** The census breaks the contract, or has ids of other persons. */
  'CENSUS_REFUSED',
  /** The deduction cannot be assigned. */
  'ASSIGNMENT_REFUSED',
  /** The amounts cannot be overridden. */
  'OVERRIDE_REFUSED',
  /** The settings of an employer are invalid. */
  'SETTINGS_REFUSED',
  /** There is nothing with an id. */
  'NOT_FOUND',
  /** The state of something does not allow the action. */
  'CONFLICT',
  /** Readiness checks fail that are not accepted; `problems` names them. */
  'READINESS_FAILED',
  /** What was reviewed changed. `subject` is the ETag of what is there now. */
  'PRECONDITION_FAILED',
  /** The ETag of what was reviewed is missing. */
  'PRECONDITION_REQUIRED',
  /** The employer requires an approval by another person. */
  'APPROVAL_MISSING',
  /** An idempotency key was used with other content. */
  'KEY_REUSED',
  'THREAD_SILENT',

  /** The variable `subject` is missing or malformed. */
  'CONFIG',

  /** The write lock was not available in time. Nothing was written. */
  'LOCK_TIMEOUT',
  /** The client left before its turn. Nothing was changed. */
  'CALLER_LEFT',
  /** A clean-up took this work for abandoned, because it was late or a clock was changed. Nothing was changed. */
  'ABANDONED',
  /** The engine ended the transaction because of an error that the work caught. Nothing was written. */
  'ROLLED_BACK',
  /** The server is unreachable, or the connection was lost. The result of a commit in flight is unknown. */
  'CONNECTION_LOST',
  /** The server committed and gave up waiting for its synchronous standby. The result after a failover is unknown. */
  'NOT_REPLICATED',
  /** The server takes no writes, such as a standby. */
  'READ_ONLY',
  'NOT_UTF8',
  /** The engine would acknowledge a commit that is not on its disk. */
  'NOT_DURABLE',
  /** A file of the database was truncated or overwritten while it was open. */
  'DATABASE_DAMAGED',
  /** A file of the database was replaced or removed while it was open. */
  'DATABASE_REPLACED',
  'ALREADY_SERVED',
  /** `db` was used inside a transaction instead of its `trx`, where it would wait forever or read old rows. */
  'USED_OUTSIDE_TRANSACTION',
  'SCHEMA_REFUSED',
  'SCHEMA_NOT_COMPARABLE',

  /** DATA_KEYS lacks the key `subject`. */
  'DATA_KEY_MISSING',
  /** A value is not what was encrypted for its place. */
  'DECRYPTION_FAILED',
  /** A hash was made with a key that this database no longer has. */
  'HASH_KEY_GONE',
  'TOKEN_REFUSED',
  /** A stored JSON text is not one that this program wrote. */
  'STORED_JSON_DAMAGED',

  /** A file or body cannot be read to its end. */
  'UNREADABLE',
  'FILE_CHANGED',
  /** An event could not be stored, so it must not be acknowledged. */
  'NOT_STORED',
  'CENSUS_SOURCE_FAILED',
  'CENSUS_CUT',

  /** Nothing is deleted by age while this process's clock may be wrong. */
  'CLOCK_WRONG',
  'BACKUP_FAILED',
  'COPY_REFUSED',
  'RESTORE_REFUSED',
  'FAULT_REFUSED',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

export type ErrorDetails = {
  readonly problems?: readonly Problem[];
  /** Of all problems, if `problems` holds only the first. */
  readonly problemCount?: number;
  /** A variable, a key or an ETag. */
  readonly subject?: string | null;
  readonly cause?: unknown;
};

/** The message is for people. It holds no personal data and no secret, so it can be shown and logged. */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  readonly subject: string | null;

  constructor(code: Code, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.problems = details.problems ?? [];
    this.problemCount = details.problemCount ?? this.problems.length;
    this.subject = details.subject ?? null;
  }
}

/** An error of the domain. */
export class AppError<Code extends ErrorCode = ErrorCode> extends CodedError<Code> {}

/** Returns a refusal whose message the API and the commands make from its problems. */
export function refused<Code extends ErrorCode>(
  code: Code,
  problems: readonly Problem[],
  problemCount: number = problems.length,
): AppError<Code> {
  return new AppError(code, '', { problems, problemCount });
}

/** Returns the refusal of an unknown id, without repeating the id. */
export function notFound(what: string): AppError {
  return new AppError('NOT_FOUND', `There is no ${what} with this ID.`);
}

/** Returns the refusal of an action that the state does not allow. */
export function conflict(why: string): AppError {
  return new AppError('CONFLICT', why);
}

/** Returns whether the error is one of this program: of the domain, the API or the command line. */
export function isCodedError(error: unknown): error is CodedError {
  return codeOf(error) !== '' && Array.isArray((error as Partial<CodedError>).problems);
}

/** Returns whether the error has one of these codes, or any code of the domain without `codes`. */
export function isAppError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is AppError<Code> {
  const wanted: readonly string[] = codes.length === 0 ? ERROR_CODES : codes;
  return isCodedError(error) && wanted.includes(error.code);
}

/** Returns the code of any error, which is safe to log, or '' if it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

/** The fields of an error as sent to another thread. Structured clone drops the fields of an `Error`. */
export type PostedError = Readonly<Record<string, unknown>>;

const POSTED = ['message', 'code', 'problems', 'problemCount', 'subject', 'address', 'port'];

export function postedError(error: unknown): PostedError {
  const fields = (error ?? {}) as PostedError;
  const names = POSTED.filter((name) => fields[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

export function receivedError({ message, ...fields }: PostedError): Error {
  return Object.assign(new Error(typeof message === 'string' ? message : 'unknown error'), fields);
}
