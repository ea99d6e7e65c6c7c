/** Maps any error to the refusal that the caller receives. An unknown error is internal and reveals nothing. */
import type { FastifyError, FastifyRequest } from 'fastify';
import { isFatal, isUnavailable } from '../database/errors.ts';
import { AppError, codeOf, isAppError } from '../errors.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import type { ApiParts } from './parts.ts';
import { broken, PROBLEMS, type ProblemCode, problemCodeOf, type Refusal } from './problem.ts';

/** Clients retry after this when the database is locked or full; the request has waited 3 s for the lock. */
const RETRY_AFTER_SECONDS = 5;

/** Our messages for the framework's errors: its own may quote the request. */
const FRAMEWORK: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  FST_ERR_BAD_URL: ['INVALID_REQUEST', 'The path is invalid. Percent-encode its special characters.'],
  FST_ERR_MAX_PARAM_LENGTH: ['INVALID_REQUEST', 'An ID in the path is too long.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'INVALID_REQUEST',
    'The body does not have the length that Content-Length states.',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['TOO_LARGE', 'The body exceeds the size limit of this operation.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'UNSUPPORTED_MEDIA_TYPE',
    'See the API reference for the content types of this operation.',
  ],
  ECONNRESET: ['INVALID_REQUEST', 'The connection was closed before the whole body arrived.'],
  ERR_STREAM_PREMATURE_CLOSE: ['INVALID_REQUEST', 'The connection was closed before the whole body arrived.'],
};

export function refusalOf(error: unknown): Refusal {
  if (isUnavailable(error)) {
    // If the response to a commit was lost, the commit may have succeeded.
    const detail = isAppError(error, 'CONNECTION_LOST')
      ? 'The database connection was lost. If the request was meant to change something, check whether it did, or send it again.'
      : 'Nothing was changed. Send the request again.';
    return new AppError('UNAVAILABLE', detail, { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } });
  }
  if (isAppError(error, 'RUN_REFUSED')) return broken('RUN_REFUSED', error.problems, error.problemCount);
  if (isAppError(error)) {
    const code = problemCodeOf(error.code);
    if (code === error.code) return error as Refusal;
    return code === 'INTERNAL' ? new AppError(code, '') : new AppError(code, error.message, error);
  }
  const known = FRAMEWORK[codeOf(error)];
  if (known !== undefined) return new AppError(...known);
  return new AppError(codeOfStatus((error as Partial<FastifyError> | null)?.statusCode), '');
}

function codeOfStatus(status = 500): ProblemCode {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  const code = codes.find((candidate) => PROBLEMS[candidate].status === status);
  return code ?? (status >= 400 && status < 500 ? 'INVALID_REQUEST' : 'INTERNAL');
}

/** Returns the class of an unknown error and where it was thrown. Its message may contain personal data. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const place = /\bat .*?((?:[\w.@-]+\/){0,2}[\w.@-]+:\d+):\d+\)?$/m.exec(error.stack ?? '')?.[1];
  return place === undefined ? error.name : `${error.name} at ${place}`;
}

/** Logs refused callers and internal failures. Other errors of a request concern its caller only. */
export function logRefusal(
  { log, onFatal }: Pick<ApiParts, 'log' | 'onFatal'>,
  error: unknown,
  { code }: Refusal,
  request: FastifyRequest,
): void {
  const { status } = PROBLEMS[code];
  const fields = { route: `${request.method} ${request.routeOptions.url}`, status };
  if (status === 401 || status === 403) {
    log.warn({ ...fields, ...(request.caller && { token: request.caller.name }) }, 'a caller was refused');
  }
  if (status < 500 || isAppError(error, 'OVERLOADED')) return;
  const reason = isAppError(error, 'STORED_JSON_DAMAGED') ? error.message : keyErrorMessage(error);
  log.error(
    { ...fields, code: codeOf(error) || code, cause: causeOf(error), ...(reason !== null && { reason }) },
    'a request failed',
  );
  if (isFatal(error)) onFatal(error);
}
