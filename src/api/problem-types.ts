/** The problem types of the API. */

/** Responses have the status and the title. `npm run docs` writes the cause and the fix to docs/api.md#problem-types. */
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
    cause: 'unknown path or ID, or an employer without a census or hire',
    fix: 'percent-encode IDs: `a/1` is `a%2F1`; stage the census of the employer first',
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
    cause: '`Accept` names no type of this list',
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
    cause: 'the employer requires a [second approval](access.md#second-approval) of these lines and findings',
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
    fix: 'send what `detail` names',
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
    cause: 'a census breaks the contract or does not match its file format; nothing was stored',
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
    fix: 'send it again after `Retry-After` or, if a data key is missing, when an operator has added it; see [the process](operations.md#the-process)',
  },
} as const;
export type ProblemCode = keyof typeof PROBLEMS;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** Returns the name of a problem type in URNs and the reference: its code in lower case with hyphens. */
export function problemName(code: ProblemCode): string {
  return code.toLowerCase().replaceAll('_', '-');
}
