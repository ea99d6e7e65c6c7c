/** Problem details (RFC 9457): the problem type of every error, and the refusal that callers receive. */
import type { FastifyError, FastifyReply } from 'fastify';
import Type, { type Static } from 'typebox';
import { compile, describe, PROBLEMS_MAX } from '../contract/check.ts';
import { component, FieldProblem, integer, text } from '../contract/fields.ts';
import { isUnavailable } from '../database/errors.ts';
import {
  CodedError,
  codeOf,
  counted,
  type ErrorCode,
  type ErrorDetails,
  isAppError,
  type Problem,
  withoutHint,
} from '../errors.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import type { Scope } from '../security/scopes.ts';
import { PROBLEM_CODES, PROBLEMS, type ProblemCode, problemName } from './problem-types.ts';

/** Clients retry after this when the database is locked or full; the request has waited 3 s for the lock. */
const RETRY_LATER = { 'retry-after': '5' };

/** An error with a problem type. Its message becomes the detail, and `headers` are sent with the response. */
export class Refusal extends CodedError<ProblemCode> {
  readonly headers: Readonly<Record<string, string>>;
  /** The caller has none of these scopes, and needs one. */
  readonly lacks: readonly Scope[];
  /** Waiting does not help: an operator must first do what the message says. */
  readonly isForOperator: boolean;

  constructor(
    code: ProblemCode,
    message: string,
    details: ErrorDetails & Partial<Pick<Refusal, 'headers' | 'lacks' | 'isForOperator'>> = {},
  ) {
    super(code, message, details);
    this.headers = { ...(code === 'UNAVAILABLE' && RETRY_LATER), ...details.headers };
    this.lacks = details.lacks ?? [];
    this.isForOperator = details.isForOperator ?? false;
  }
}

/** The problem type of each error of the domain that is not named like one. An INTERNAL one reveals nothing to the caller. */
const PROBLEM_OF: Readonly<Record<Exclude<ErrorCode, ProblemCode>, ProblemCode>> = {
  RUN_GROUPS_MIXED: 'CONFLICT',
  SCHEDULE_IN_USE: 'CONFLICT',
  SCHEDULE_LEAVES_REST: 'CONFLICT',
  KEY_REUSED: 'CONFLICT',
  // The client is gone. A code below 500 keeps the request out of the logged failures.
  CALLER_LEFT: 'CONFLICT',
  THREAD_SILENT: 'UNAVAILABLE',
  LOCK_TIMEOUT: 'UNAVAILABLE',
  ABANDONED: 'UNAVAILABLE',
  ROLLED_BACK: 'UNAVAILABLE',
  CONNECTION_LOST: 'UNAVAILABLE',
  NOT_REPLICATED: 'UNAVAILABLE',
  READ_ONLY: 'UNAVAILABLE',
  NOT_UTF8: 'UNAVAILABLE',
  NOT_DURABLE: 'UNAVAILABLE',
  DATABASE_DAMAGED: 'UNAVAILABLE',
  DATA_KEY_MISSING: 'UNAVAILABLE',
  DECRYPTION_FAILED: 'UNAVAILABLE',
  HASH_KEY_GONE: 'UNAVAILABLE',

  CONFIG: 'INTERNAL',
  DATABASE_REPLACED: 'INTERNAL',
  ALREADY_SERVED: 'INTERNAL',
  USED_OUTSIDE_TRANSACTION: 'INTERNAL',
  SCHEMA_REFUSED: 'INTERNAL',
  SCHEMA_NOT_COMPARABLE: 'INTERNAL',
  TOKEN_REFUSED: 'INTERNAL',
  STORED_JSON_DAMAGED: 'INTERNAL',
  UNREADABLE: 'INTERNAL',
  FILE_CHANGED: 'INTERNAL',
  NOT_STORED: 'INTERNAL',
  CENSUS_SOURCE_FAILED: 'INTERNAL',
  CENSUS_CUT: 'INTERNAL',
  CLOCK_WRONG: 'INTERNAL',
  BACKUP_FAILED: 'INTERNAL',
  COPY_REFUSED: 'INTERNAL',
  RESTORE_REFUSED: 'INTERNAL',
  FAULT_REFUSED: 'INTERNAL',
};

/** Problems named in `detail`; `errors` names all of them. */
const NAMED_IN_DETAIL = 3;

export function invalid(errors: readonly Problem[]): Refusal {
  return broken('INVALID_REQUEST', errors);
}

/** Returns a refusal that names each field and rule; a problem of the whole body has the path `body`. */
function broken(
  code: ProblemCode,
  problems: readonly Problem[],
  problemCount: number = problems.length,
): Refusal {
  const named = problems.map((problem) => (problem.path === '' ? { ...problem, path: 'body' } : problem));
  const first = named
    .slice(0, NAMED_IN_DETAIL)
    .map((problem) => describe(withoutHint(problem)))
    .join('; ');
  const left = problemCount - NAMED_IN_DETAIL;
  return new Refusal(code, left > 0 ? `${first}; and ${left} more` : first, {
    problems: named,
    problemCount,
  });
}

export const ProblemDetails = component(
  'Problem',
  {
    type: text('A URN that identifies the problem type. It never changes.'),
    title: text('A summary of the problem type.'),
    status: integer('The HTTP status.'),
    detail: Type.Optional(text('What happened and what to do about it.')),
    errors: Type.Optional(
      Type.Array(FieldProblem, {
        description: `The first ${PROBLEMS_MAX} invalid fields, each with the rule it breaks. Only a \`hint\` may contain a value.`,
      }),
    ),
    error_count: Type.Optional(integer('The total number of problems, if `errors` lists only the first.')),
  },
  'Problem details (RFC 9457).',
);
export type ProblemDetails = Static<typeof ProblemDetails>;

function typeOf(code: ProblemCode): string {
  return `urn:benefits-sidecar:problem:${problemName(code)}`;
}

export const PROBLEM_TYPE = 'application/problem+json';

export function problemOf({ code, message, problems, problemCount }: Refusal): ProblemDetails {
  const { status, title } = PROBLEMS[code];
  return {
    type: typeOf(code),
    title,
    status,
    ...(message !== '' && { detail: message }),
    ...(problems.length > 0 && { errors: [...problems] }),
    ...(problemCount > problems.length && { error_count: problemCount }),
  };
}

const details = compile(ProblemDetails);

/** Returns the refusal that a response body describes; null if it is not one of a sidecar. */
export function errorOfProblem(body: unknown): Refusal | null {
  if (!details.accepts(body)) return null;
  const { type, detail = '', errors: problems = [], error_count: problemCount = problems.length } = body;
  const code = PROBLEM_CODES.find((candidate) => typeOf(candidate) === type);
  return code === undefined ? null : new Refusal(code, detail, { problems, problemCount });
}

export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { code, headers } = refusal;
  const problem = problemOf(refusal);
  const told = code === 'UNAVAILABLE' ? { ...problem, detail: howToRepeat(refusal) } : problem;
  return reply.code(problem.status).headers(headers).type(PROBLEM_TYPE).send(JSON.stringify(told));
}

/** Returns the message of a refusal, followed by when and how to send the request again. */
function howToRepeat({ message, headers, isForOperator }: Refusal): string {
  const happened = message.replace(/[^.]$/, '$&.');
  const when = isForOperator
    ? 'After an operator has done that,'
    : `Wait ${counted(Number(headers['retry-after']), 'second')} (Retry-After), then`;
  const todo = `${when} send the request again, with the same Idempotency-Key if the operation takes one.`;
  return `${happened} ${todo}`.trimStart();
}

export const BODY_TOO_LARGE = 'The body exceeds the size limit of this operation.';

/** Our messages for the framework's errors: its own may quote the request. */
const FRAMEWORK: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  FST_ERR_BAD_URL: ['INVALID_REQUEST', 'The path is invalid. Percent-encode its special characters.'],
  FST_ERR_MAX_PARAM_LENGTH: ['INVALID_REQUEST', 'An ID in the path is too long.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'INVALID_REQUEST',
    'The body does not have the length that Content-Length states.',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['TOO_LARGE', BODY_TOO_LARGE],
  ECONNRESET: ['INVALID_REQUEST', 'The connection was closed before the whole body arrived.'],
  ERR_STREAM_PREMATURE_CLOSE: ['INVALID_REQUEST', 'The connection was closed before the whole body arrived.'],
};

/** Returns the refusal of any error. An unknown error is internal and reveals nothing. */
export function refusalOf(error: unknown): Refusal {
  if (isUnavailable(error)) {
    // If the response to a commit was lost, the commit may have succeeded.
    const detail = isAppError(error, 'CONNECTION_LOST', 'NOT_REPLICATED')
      ? 'The database connection was lost. If the request was meant to change something, it may have: check before you repeat it.'
      : 'Nothing was changed.';
    return new Refusal('UNAVAILABLE', detail);
  }
  if (error instanceof Refusal) return error;
  if (isAppError(error)) {
    const { message, problems, problemCount } = error;
    const code =
      error.code in PROBLEMS
        ? (error.code as ProblemCode)
        : PROBLEM_OF[error.code as keyof typeof PROBLEM_OF];
    if (code === 'INTERNAL') return new Refusal(code, '');
    if (message === '') return broken(code, problems, problemCount);
    const headers = code === 'PRECONDITION_FAILED' ? { etag: `"${error.subject}"` } : {};
    const isForOperator = keyErrorMessage(error) !== null;
    return new Refusal(code, message, { problems, problemCount, headers, isForOperator });
  }
  const known = FRAMEWORK[codeOf(error)];
  if (known !== undefined) return new Refusal(...known);
  const { statusCode: status = 500 } = (error ?? {}) as Partial<FastifyError>;
  const code = PROBLEM_CODES.find((candidate) => PROBLEMS[candidate].status === status);
  return new Refusal(code ?? (status >= 400 && status < 500 ? 'INVALID_REQUEST' : 'INTERNAL'), '');
}
