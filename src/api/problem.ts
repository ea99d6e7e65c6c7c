/** What a request is refused with: a closed set of codes, one map to HTTP status, and RFC 9457 as the answer. */
import type { FastifyReply } from 'fastify';
import Type, { type Static } from 'typebox';
import { describe, PROBLEMS_MAX, type Problem } from '../contract/check.ts';

export const REFUSALS = {
  'invalid-request': { status: 400, title: 'The request is not as the reference describes it' },
  unauthorized: { status: 401, title: 'A valid token is needed' },
  forbidden: { status: 403, title: 'The token lacks a scope' },
  'not-found': { status: 404, title: 'There is no such thing here' },
  'method-not-allowed': { status: 405, title: 'This path has other methods' },
  'not-acceptable': { status: 406, title: 'This route has no answer of such a type' },
  conflict: { status: 409, title: 'The request does not fit the present state' },
  'readiness-failed': { status: 409, title: 'Readiness checks fail' },
  'precondition-failed': { status: 412, title: 'The run changed since it was reviewed' },
  'too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The body has another content type than this route takes' },
  'change-refused': { status: 422, title: 'The change breaks the contract' },
  'census-refused': { status: 422, title: 'The census breaks the contract' },
  'run-refused': { status: 422, title: 'The run can not be computed as it is asked for' },
  'rows-refused': { status: 422, title: 'The rows of the file can not be used' },
  'settings-refused': { status: 422, title: 'The list can not be used' },
  'too-many-attempts': { status: 429, title: 'Too many failed attempts' },
  internal: { status: 500, title: 'Something went wrong here' },
  unavailable: { status: 503, title: 'It can not be done at the moment' },
} as const;
export type RefusalCode = keyof typeof REFUSALS;

/** Why a request was refused. The texts hold no value of the request: they may be shown and logged by anybody. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly errors: readonly Problem[];
  /** All problems, where there were more than `errors` names. */
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

/** An unknown id: the answer does not repeat it. */
export function notFound(what: string): Refusal {
  return new Refusal('not-found', `there is no ${what} with this id`);
}

/** The body of every refusal. */
export const ProblemDetails = Type.Object(
  {
    type: Type.String({ description: 'The code of the refusal, as a URN that never changes.' }),
    title: Type.String({ description: 'What the code means, the same for every refusal of this type.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.Optional(Type.String({ description: 'What happened and what to do about it.' })),
    errors: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), rule: Type.String() }, { additionalProperties: false }), {
        description: `Each field that breaks a rule, and the rule; the first ${PROBLEMS_MAX}. Never the value.`,
      }),
    ),
    error_count: Type.Optional(
      Type.Integer({ description: 'All that is wrong, where `errors` names only the first.' }),
    ),
  },
  { additionalProperties: false, description: 'A refusal (RFC 9457).' },
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
