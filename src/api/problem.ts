/** Problem details (RFC 9457): the HTTP status and the problem type of every error, and the refusal that callers receive. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { compile, describe, PROBLEMS_MAX } from '../contract/check.ts';
import { component, FieldProblem, integer, text } from '../contract/fields.ts';
import { isFatal, isUnavailable } from '../database/errors.ts';
import {
  CodedError,
  codeOf,
  type ErrorCode,
  type ErrorDetails,
  isAppError,
  type Problem,
  withoutHint,
} from '../errors.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import type { Log } from '../telemetry/log.ts';

/** The problem types. Their URNs are the codes in lower case with hyphens; docs/api-errors-and-limits.md has cause and fix. */
export const PROBLEMS = {
  INVALID_REQUEST: {
    status: 400,
    title: 'Bad Request',
    cause: 'a parameter, header or JSON body is invalid',
    fix: 'correct what `errors` names',
  },
  UNAUTHORIZED: {
    status: 401,
    title: 'Unauthorized',
    cause: 'no token, or one that is unknown, revoked or expired',
    fix: '`benefits-sidecar token list`; send `Authorization: Bearer TOKEN`',
  },
  FORBIDDEN: {
    status: 403,
    title: 'Forbidden',
    cause: 'the token lacks the named scope, is limited to employers, or belongs to no person',
    fix: '`benefits-sidecar token create` with what `detail` names',
  },
  NOT_FOUND: {
    status: 404,
    title: 'Not Found',
    cause: 'unknown path or id, also an employer of which nothing is known',
    fix: 'percent-encode ids: `a/1` is `a%2F1`; an employer begins with its census or a hire',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'Method Not Allowed',
    cause: 'the path has other methods',
    fix: 'see `Allow`',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    title: 'Not Acceptable',
    cause: '`Accept` names no type of this route',
    fix: 'JSON, `text/csv` or `application/x-ndjson`',
  },
  TOO_SLOW: {
    status: 408,
    title: 'Request Timeout',
    cause: 'a large body arrived slower than 64 KiB/s while others waited to be read; nothing was stored',
    fix: 'use a faster line',
  },
  CONFLICT: {
    status: 409,
    title: 'Conflict',
    cause: "the resource's state doesn't allow it, or a key was used for another change",
    fix: 'read `detail`',
  },
  READINESS_FAILED: {
    status: 409,
    title: 'Readiness checks failed',
    cause: 'a check fails',
    fix: '[Readiness](readiness.md#fix-a-failure)',
  },
  APPROVAL_MISSING: {
    status: 409,
    title: 'An approval is missing',
    cause: 'the employer requires a [second approval](second-approval.md) of these lines and findings',
    fix: 'have another person approve them',
  },
  PRECONDITION_FAILED: {
    status: 412,
    title: 'Precondition Failed',
    cause: "`If-Match` doesn't match the current lines",
    fix: 'review again',
  },
  TOO_LARGE: {
    status: 413,
    title: 'Content Too Large',
    cause: 'the body exceeds the [limit](#limits)',
    fix: 'split it',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: 'Unsupported Media Type',
    cause: 'wrong content type or charset, or a compressed body',
    fix: 'see the reference; send UTF-8',
  },
  PRECONDITION_REQUIRED: {
    status: 428,
    title: 'Precondition Required',
    cause: 'finalizing, or approving it, without `If-Match`',
    fix: 'send the ETag of what you reviewed',
  },
  CHANGE_REFUSED: {
    status: 422,
    title: 'The change breaks the contract',
    cause: 'an employment change breaks the contract',
    fix: 'correct the fields',
  },
  CENSUS_REFUSED: {
    status: 422,
    title: 'The census is refused',
    cause: 'a census breaks the contract or is not as its file format; nothing was stored',
    fix: 'correct the rows; `benefits-sidecar census validate FILE` checks them',
  },
  RUN_REFUSED: {
    status: 422,
    title: 'The payroll run cannot be computed',
    cause: "a run can't be computed: pay dates, an invalid date, an unknown employer",
    fix: 'correct the fields',
  },
  ROWS_REFUSED: {
    status: 422,
    title: 'The file contains invalid rows',
    cause: 'a file has invalid rows; nothing was stored',
    fix: 'correct them; wrong encoding and semicolons are the most common causes',
  },
  EMPLOYEE_ELSEWHERE: {
    status: 409,
    title: 'The employee is active at another employer',
    cause: 'a limited token names an employee who is active at an employer that it does not see',
    fix: 'report the employment with a token that sees both employers, or on the command line',
  },
  ASSIGNMENT_REFUSED: {
    status: 422,
    title: 'The deduction cannot be assigned',
    cause: "a deduction can't be assigned to this employer",
    fix: 'name an employer with whom the employee is or was active',
  },
  ITEM_CHANGED: {
    status: 409,
    title: 'The open item changed',
    cause: 'an open item is not as it was when it was reviewed; `errors` has the new amounts',
    fix: 'review the item, then send the decision with the new amounts',
  },
  DECISION_REFUSED: {
    status: 422,
    title: 'The open items cannot be decided so',
    cause: 'a decision about an open item is impossible',
    fix: 'correct the field that `errors` names',
  },
  OVERRIDE_REFUSED: {
    status: 422,
    title: 'The amounts cannot be overridden',
    cause: "the amounts of a run can't be overridden",
    fix: 'name an employee in the run and a deduction of the employee',
  },
  SETTINGS_REFUSED: {
    status: 422,
    title: 'The settings are invalid',
    cause: 'a pay schedule or code list is invalid',
    fix: 'correct the fields',
  },
  TOO_MANY_ATTEMPTS: {
    status: 429,
    title: 'Too Many Requests',
    cause: 'over 20 failed attempts per minute from this address, with an invalid token',
    fix: 'find the program that repeats a wrong token',
  },
  INTERNAL: {
    status: 500,
    title: 'Internal Server Error',
    cause: 'a bug. The log has `a request failed` with its kind and place',
    fix: 'report it with that line',
  },
  UNAVAILABLE: {
    status: 503,
    title: 'Service Unavailable',
    cause: 'the database is busy, full or down, too many requests, or a data key is missing',
    fix: 'send it again after `Retry-After`; see [the process](troubleshooting.md#the-process)',
  },
} as const;
export type ProblemCode = keyof typeof PROBLEMS;
const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** An error with a problem type. Its message becomes the detail, and `headers` are sent with the response. */
export class Refusal extends CodedError<ProblemCode> {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    message: string,
    details: ErrorDetails & { readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(code, message, details);
    this.headers = details.headers ?? {};
  }
}

/** The problem type of each error of the domain that is not named like one. An INTERNAL one reveals nothing to the caller. */
const PROBLEM_OF: Readonly<Record<Exclude<ErrorCode, ProblemCode>, ProblemCode>> = {
  RUN_GROUPS_MIXED: 'CONFLICT',
  SCHEDULE_IN_USE: 'CONFLICT',
  SCHEDULE_LEAVES_REST: 'CONFLICT',
  KEY_REUSED: 'CONFLICT',
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

/** Returns the name of a problem type as URNs and the reference show it. */
export function problemName(code: ProblemCode): string {
  return code.toLowerCase().replaceAll('_', '-');
}

/** Problems named in `detail`; `errors` names all of them. */
const NAMED_IN_DETAIL = 3;

export function invalid(errors: readonly Problem[]): Refusal {
  return broken('INVALID_REQUEST', errors);
}

/** Returns a refusal that names each field and rule; a problem of the whole body has the path `body`. */
export function broken(
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
  const code = CODES.find((candidate) => typeOf(candidate) === type);
  return code === undefined ? null : new Refusal(code, detail, { problems, problemCount });
}

export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return reply
    .code(PROBLEMS[refusal.code].status)
    .headers(refusal.headers)
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problemOf(refusal)));
}

/** Clients retry after this when the database is locked or full; the request has waited 3 s for the lock. */
const RETRY_LATER = { 'retry-after': '5' };

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
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'UNSUPPORTED_MEDIA_TYPE',
    'See the API reference for the content types of this operation.',
  ],
  ECONNRESET: ['INVALID_REQUEST', 'The connection was closed before the whole body arrived.'],
  ERR_STREAM_PREMATURE_CLOSE: ['INVALID_REQUEST', 'The connection was closed before the whole body arrived.'],
};

/** Returns the refusal of any error. An unknown error is internal and reveals nothing. */
export function refusalOf(error: unknown): Refusal {
  if (isUnavailable(error)) {
    // If the response to a commit was lost, the commit may have succeeded.
    const detail = isAppError(error, 'CONNECTION_LOST', 'NOT_REPLICATED')
      ? 'The database connection was lost. If the request was meant to change something, check whether it did, or send it again.'
      : 'Nothing was changed. Send the request again.';
    return new Refusal('UNAVAILABLE', detail, { headers: RETRY_LATER });
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
    const headers = {
      ...(code === 'UNAVAILABLE' && RETRY_LATER),
      ...(code === 'PRECONDITION_FAILED' && { etag: `"${error.subject}"` }),
    };
    return new Refusal(code, message, { problems, problemCount, headers });
  }
  const known = FRAMEWORK[codeOf(error)];
  if (known !== undefined) return new Refusal(...known);
  const { statusCode: status = 500 } = (error ?? {}) as Partial<FastifyError>;
  const code = CODES.find((candidate) => PROBLEMS[candidate].status === status);
  return new Refusal(code ?? (status >= 400 && status < 500 ? 'INVALID_REQUEST' : 'INTERNAL'), '');
}

/** Returns the class of an unknown error and where it was thrown. Its message may contain personal data. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const [place] = (error.stack ?? '').split('\n').flatMap((line) => placeIn(line) ?? []);
  return place === undefined ? error.name : `${error.name} at ${place}`;
}

/** Returns the last folders, the file and the line of a frame such as `    at name (file:///app/dist/main.js:12:5)`. */
function placeIn(frame: string): string | undefined {
  if (!frame.startsWith('    at ')) return undefined;
  const start = Math.max(frame.lastIndexOf(' '), frame.lastIndexOf('(')) + 1;
  const file = frame.slice(start).split('/').slice(-3).join('/');
  return /^[\w.@:/-]+:\d+(?=:\d+\)?$)/.exec(file)?.[0];
}

/** The statuses that refuse a caller, not a request. */
const CALLER_REFUSED: readonly number[] = [401, 403, 429];

/** What the log names of a refused request, or of a refused call that a page made for one. */
export type Refused = Pick<FastifyRequest, 'server' | 'method' | 'ip' | 'socket' | 'caller' | 'session'> & {
  readonly routeOptions: { readonly url?: string | undefined };
};

/** Logs that a limited token named an employee of another employer. */
function logElsewhere(request: Refused): void {
  request.server.refusedCaller(request, PROBLEMS.EMPLOYEE_ELSEWHERE.status);
}

/** Logs refused callers and internal failures. Other errors of a request concern its caller only. */
export function logRefusal(
  { log, onFatal }: { log: Log; onFatal: (error: unknown) => void },
  error: unknown,
  { code }: Refusal,
  request: Refused,
): void {
  const { status } = PROBLEMS[code];
  if (code === 'EMPLOYEE_ELSEWHERE') logElsewhere(request);
  // To a caller limited to employers, the ids of others are unknown: a probe of them must leave a trace.
  const isPerhapsProbe = status === 404 && request.caller?.employers != null;
  if (CALLER_REFUSED.includes(status) || isPerhapsProbe) request.server.refusedCaller(request, status);
  // The listener itself refuses as UNAVAILABLE only under load, which it logs by the number of requests.
  if (status < 500 || (error instanceof Refusal && code === 'UNAVAILABLE')) return;
  const fields = { route: `${request.method} ${request.routeOptions.url}`, status };
  const reason = isAppError(error, 'STORED_JSON_DAMAGED') ? error.message : keyErrorMessage(error);
  log.error(
    { ...fields, code: codeOf(error) || code, cause: causeOf(error), ...(reason !== null && { reason }) },
    'a request failed',
  );
  if (isFatal(error)) onFatal(error);
}
