/** Problem details (RFC 9457): a closed set of codes and one map from code to HTTP status. */
import type { FastifyReply } from 'fastify';
import Type, { type Static } from 'typebox';
import { describe, PROBLEMS_MAX, type Problem } from '../contract/check.ts';

export const REFUSALS = {
  'invalid-request': { status: 400, title: 'Bad Request' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  'not-found': { status: 404, title: 'Not Found' },
  'method-not-allowed': { status: 405, title: 'Method Not Allowed' },
  'not-acceptable': { status: 406, title: 'Not Acceptable' },
  conflict: { status: 409, title: 'Conflict' },
  'readiness-failed': { status: 409, title: 'Readiness checks failed' },
  'precondition-failed': { status: 412, title: 'Precondition Failed' },
  'too-large': { status: 413, title: 'Content Too Large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported Media Type' },
  'change-refused': { status: 422, title: 'The change breaks the contract' },
  'census-refused': { status: 422, title: 'The census breaks the contract' },
  'run-refused': { status: 422, title: 'The payroll run cannot be computed' },
  'rows-refused': { status: 422, title: 'The file contains invalid rows' },
  'settings-refused': { status: 422, title: 'The settings are invalid' },
  'too-many-attempts': { status: 429, title: 'Too Many Requests' },
  internal: { status: 500, title: 'Internal Server Error' },
  unavailable: { status: 503, title: 'Service Unavailable' },
} as const;
export type RefusalCode = keyof typeof REFUSALS;

/** An error response. Its texts contain no value of the request, so they can be shown and logged. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly errors: readonly Problem[];
  /** The number of all problems, which may be more than `errors` holds. */
  readonly errorCount: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: RefusalCode,
    detail: string,
    more: { errors?: readonly Problem[]; errorCount?: number; headers?: Record<string, string> } = {},
  ) {
    super(detail);
    this.code = code;
    this.errors = more.errors ?? [];
    this.errorCount = more.errorCount ?? this.errors.length;
    this.headers = more.headers ?? {};
  }
}

/** Problems named in `detail`; `errors` names all of them. */
const NAMED_IN_DETAIL = 3;

/** Returns the refusal of a request that breaks rules. */
export function invalid(errors: readonly Problem[]): Refusal {
  return broken('invalid-request', errors);
}

/** Returns a refusal that names each field and rule; a problem of the whole body has the path `body`. */
export function broken(
  code: RefusalCode,
  errors: readonly Problem[],
  errorCount: number = errors.length,
): Refusal {
  const named = errors.map((problem) => (problem.path === '' ? { ...problem, path: 'body' } : problem));
  const first = named.slice(0, NAMED_IN_DETAIL).map(describe).join('; ');
  const left = errorCount - NAMED_IN_DETAIL;
  return new Refusal(code, left > 0 ? `${first}; and ${left} more` : first, { errors: named, errorCount });
}

/** Returns the refusal of an unknown id, without repeating the id. */
export function notFound(what: string): Refusal {
  return new Refusal('not-found', `There is no ${what} with this ID.`);
}

/** The body of every refusal. */
export const ProblemDetails = Type.Object(
  {
    type: Type.String({ description: 'A URN that identifies the problem type. It never changes.' }),
    title: Type.String({ description: 'A summary of the problem type.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.Optional(Type.String({ description: 'What happened and what to do about it.' })),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), rule: Type.String() }, { additionalProperties: false }), {
        description: `The first ${PROBLEMS_MAX} invalid fields, each with the rule it breaks. Never contains a value.`,
      }),
    ),
    error_count: Type.Optional(
      Type.Integer({ description: 'The total number of problems, if `errors` lists only the first.' }),
    ),
  },
  { additionalProperties: false, description: 'Problem details (RFC 9457).' },
);
export type ProblemDetails = Static<typeof ProblemDetails>;

export const PROBLEM_TYPE = 'application/problem+json';

export function problemOf({ code, message, errors, errorCount }: Refusal): ProblemDetails {
  const { status, title } = REFUSALS[code];
  return {
    type: `urn:benefits-sidecar:problem:${code}`,
    title,
    status,
    ...(message !== '' && { detail: message }),
    ...(errors.length > 0 && { errors: [...errors] }),
    ...(errorCount > errors.length && { error_count: errorCount }),
  };
}

export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return reply
    .code(REFUSALS[refusal.code].status)
    .headers(refusal.headers)
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problemOf(refusal)));
}
