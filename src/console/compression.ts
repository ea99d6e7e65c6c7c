/** Compresses pages and assets, which are text. Files and event streams are sent as they are (decision 15). */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A smaller response fits into one packet. */
const BYTES_LEAST = 1_400;
/** Runs on another thread: about 4 ms for each MB. */
const compressed = promisify(gzip);

/** Reports whether the client accepts gzip. */
export function acceptsGzip({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test([headers['accept-encoding']].join());
}

/**
 * Reports whether a page of the console, or its user, requests a page. A page of another origin could put its guesses into
 * addresses, and learn from the sizes of compressed responses what else is in them.
 */
function isOwn({ headers }: FastifyRequest): boolean {
  return headers['sec-fetch-site'] === 'same-origin' || headers['sec-fetch-site'] === 'none';
}

/** Compresses the text of a page. A hook of all routes of the console. */
export async function compressPage(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || Buffer.byteLength(payload) < BYTES_LEAST) return payload;
  reply.header('vary', 'accept-encoding, sec-fetch-site');
  if (!acceptsGzip(request) || !isOwn(request)) return payload;
  reply.header('content-encoding', 'gzip').removeHeader('content-length');
  return compressed(payload);
}
