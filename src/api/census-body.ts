/** Censuses come as streams: nothing here holds one in memory. */
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CENSUS_BYTES_MAX, type CensusContent } from '../census/reading.ts';
import { invalid, Refusal } from './problem.ts';

export const CENSUS_TYPES = { json: 'application/json', csv: 'text/csv' } as const;
/** A CSV has no place for the organization. */
export const ORGANIZATION_HEADER = 'census-organization';

/** Hands bodies of both formats on as they come, for the routes of this context only. */
export function readCensusStreams(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(Object.values(CENSUS_TYPES), (_request, payload, done) => done(null, payload));
}

/** The census in a request. Throws a `Refusal` when there is none, or it says that it is too large. */
export function streamedCensus(request: FastifyRequest): CensusContent {
  const { body, headers } = request;
  if (body === undefined || body === null) throw invalid([{ path: 'body', rule: 'is required' }]);
  if (Number(headers['content-length'] ?? 0) > CENSUS_BYTES_MAX) throw tooLarge();
  const content = bounded(body as Readable);
  const isCsv = /^text\/csv\b/i.test(headers['content-type'] ?? '');
  const organization = headers[ORGANIZATION_HEADER];
  if (!isCsv) return { format: 'json', content };
  // Node reads headers as Latin-1: this gives the bytes as they were sent, and the census room decodes them.
  const bytes = typeof organization === 'string' ? Buffer.from(organization, 'latin1') : null;
  return { format: 'csv', content, organization: bytes };
}

/**
 * Censuses that the listener reads at once. Each holds up to 1 MiB of a row and the ids of all its rows, a hundred
 * megabytes at the most, beside the checks that share one thread: three are more than payroll brings at a time.
 */
export const CENSUSES_AT_ONCE = 3;

async function* bounded(body: Readable): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  // Destroying the body, as the iterator otherwise does when its reader stops early, would destroy the response too.
  for await (const part of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > CENSUS_BYTES_MAX) throw tooLarge();
    yield part;
  }
}

function tooLarge(): Refusal {
  return new Refusal('too-large', `a census has at most ${CENSUS_BYTES_MAX / 1024 / 1024} MiB`);
}
