/** Maps any error to the refusal that the caller receives. An unknown error is internal and reveals nothing. */
import type { FastifyError, FastifyRequest } from 'fastify';
import { ConnectionLost, codeOf, isFatal, isUnavailable } from '../database/errors.ts';
import { InvalidCursor } from '../formats/cursor.ts';
import { RunRefused } from '../payroll/runs/basis.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import type { ApiParts } from './parts.ts';
import { Shed } from './pressure.ts';
import { broken, invalid, REFUSALS, Refusal, type RefusalCode } from './problem.ts';

/** Clients retry after this when the database is locked or full; the request has waited 3 s for the lock. */
const RETRY_AFTER_SECONDS = 5;

/** Our messages for the framework's errors: its own may quote the request. */
const FRAMEWORK: Readonly<Record<string, readonly [RefusalCode, string]>> = {
  FST_ERR_BAD_URL: ['invalid-request', 'The path is invalid. Percent-encode its special characters.'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid-request', 'An ID in the path is too long.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid-request',
    'The body does not have the length that Content-Length states.',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ['too-large', 'The body exceeds the size limit of this operation.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported-media-type',
    'See the API reference for the content types of this operation.',
  ],
  ECONNRESET: ['invalid-request', 'The connection was closed before the whole body arrived.'],
  ERR_STREAM_PREMATURE_CLOSE: ['invalid-request', 'The connection was closed before the whole body arrived.'],
  THREAD_SILENT: ['unavailable', 'a thread of this process did not answer within 2000 ms'],
};

export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof InvalidCursor) return invalid([{ path: 'cursor', rule: error.rule }]);
  if (error instanceof RunRefused) return broken('run-refused', error.problems);
  const trouble = keyErrorMessage(error);
  if (trouble !== null) return new Refusal('unavailable', trouble);
  if (isUnavailable(error)) {
    // If the response to a commit was lost, the commit may have succeeded.
    const detail =
      error instanceof ConnectionLost
        ? 'The database connection was lost. If the request was meant to change something, check whether it did, or send it again.'
        : 'Nothing was changed. Send the request again.';
    return new Refusal('unavailable', detail, {
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    });
  }
  const known = FRAMEWORK[codeOf(error)];
  if (known !== undefined) return new Refusal(...known);
  return new Refusal(codeOfStatus((error as Partial<FastifyError> | null)?.statusCode), '');
}

function codeOfStatus(status = 500): RefusalCode {
  const codes = Object.keys(REFUSALS) as RefusalCode[];
  const code = codes.find((candidate) => REFUSALS[candidate].status === status);
  return code ?? (status >= 400 && status < 500 ? 'invalid-request' : 'internal');
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
  const { status } = REFUSALS[code];
  const fields = { route: `${request.method} ${request.routeOptions.url}`, status };
  if (status === 401 || status === 403) {
    log.warn({ ...fields, ...(request.caller && { token: request.caller.name }) }, 'a caller was refused');
  }
  if (status < 500 || error instanceof Shed) return;
  const reason = keyErrorMessage(error);
  log.error(
    { ...fields, code: codeOf(error) || code, cause: causeOf(error), ...(reason !== null && { reason }) },
    'a request failed',
  );
  if (isFatal(error)) onFatal(error);
}
