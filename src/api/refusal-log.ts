import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Log } from '../telemetry/log.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';

/** Different refusals logged per second; the others are counted in one more line. Any client can cause them. */
const LINES_PER_SECOND = 10;

export type RefusedCaller = ReturnType<typeof createRefusedCaller>;

/**
 * Returns a function that logs refused callers: the first one immediately, later ones once per second with their count by
 * route, status, token and source address.
 */
export function createRefusedCaller(log: Log) {
  const lines = new Map<string, { fields: ReturnType<typeof fieldsOf>; count: number }>();
  let others = 0;
  const report = rateLimited(() => {
    for (const { fields, count } of lines.values()) log.warn({ ...fields, count }, 'a caller was refused');
    if (others > 0) log.warn({ count: others }, 'other callers were refused');
    lines.clear();
    others = 0;
  });
  return (request: FastifyRequest, status: number): void => {
    const fields = fieldsOf(request, status);
    const key = JSON.stringify(fields);
    const line = lines.get(key);
    if (line !== undefined) line.count += 1;
    else if (lines.size < LINES_PER_SECOND) lines.set(key, { fields, count: 1 });
    else others += 1;
    report({ code: '', count: 1 });
  };
}

function fieldsOf({ method, routeOptions, caller, ip, socket }: FastifyRequest, status: number) {
  const route = `${method} ${routeOptions.url}`;
  // A proxy may forward any text as the address of its client.
  const address = isIP(ip) === 0 ? socket.remoteAddress : ip;
  return { route, status, ...(caller && { token: caller.name }), ...(address && { address }) };
}
