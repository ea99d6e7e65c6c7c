/** Logs refused callers and internal failures. */
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { isFatal } from '../database/errors.ts';
import { codeOf, isAppError } from '../errors.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import type { Log } from '../telemetry/log.ts';
import { rateLimitedLines } from '../telemetry/rate-limited-log.ts';
import { by } from './auth.ts';
import { Refusal } from './problem.ts';
import { PROBLEMS } from './problem-types.ts';

/** What the log names of a refused request, or of a refused call that a page made for one. */
export type Refused = Pick<FastifyRequest, 'server' | 'method' | 'ip' | 'socket' | 'caller' | 'session'> & {
  readonly routeOptions: { readonly url?: string | undefined };
};

export type RefusedCaller = ReturnType<typeof createRefusedCaller>;

/**
 * Returns a function that logs refused callers: the first one immediately, later ones once per second with their count by
 * route, status, token and source address.
 */
export function createRefusedCaller(log: Log) {
  const refused = rateLimitedLines({
    line: (fields) => log.warn(fields, 'a caller was refused'),
    others: (count) => log.warn({ count }, 'other callers were refused'),
  });
  return (request: Refused, status: number): void => refused(fieldsOf(request, status));
}

function fieldsOf(request: Refused, status: number) {
  const { method, routeOptions, ip, socket } = request;
  const route = `${method} ${routeOptions.url}`;
  // A proxy may forward any text as the address of its client.
  const address = isIP(ip) === 0 ? socket.remoteAddress : ip;
  return { route, status, ...by(request), ...(address && { address }) };
}

/** The statuses that refuse a caller, not a request. */
const CALLER_REFUSED: readonly number[] = [401, 403, 429];

/** Logs refused callers and internal failures. Other errors of a request concern its caller only. */
export function logRefusal(
  { log, onFatal }: { log: Log; onFatal: (error: unknown) => void },
  error: unknown,
  { code }: Refusal,
  request: Refused,
): void {
  const { status } = PROBLEMS[code];
  // To a caller limited to employers, the ids of others are unknown: a probe of them must leave a trace.
  const isPerhapsProbe =
    code === 'EMPLOYEE_ELSEWHERE' || (status === 404 && request.caller?.employers != null);
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
