import { isIP } from 'node:net';
import type { Log } from '../telemetry/log.ts';
import { rateLimitedLines } from '../telemetry/rate-limited-log.ts';
import { by } from './auth.ts';
import type { Refused } from './problem.ts';

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
