/** Files of payroll's own come as streams: CSV, JSON or newline-delimited JSON. */
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Problem } from '../contract/check.ts';
import { type Columns, formatOf, ROW_TYPES, type RowFormat, type Rows, readRows } from '../formats/rows.ts';
import { broken, invalid, Refusal } from './problem.ts';

/** Some 400,000 rows; an employer with 100,000 employees has 300,000. */
export const ROWS_BODY_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Files that the listener reads at once. An audit holds the rows of its file, a hundred megabytes at the most: three
 * are more than people compare at a time.
 */
export const FILES_AT_ONCE = 3;

/** Hands bodies on as they come, for the routes of this context only. */
export function readRowStreams(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(Object.values(ROW_TYPES), (_request, payload, done) => done(null, payload));
}

/** The rows in a request. Throws a `Refusal` when there are none, or it says that they are too many. */
export function streamedRows({ body, headers }: FastifyRequest, columns: Columns): Rows {
  if (body === undefined || body === null) throw invalid([{ path: 'body', rule: 'is required' }]);
  if (Number(headers['content-length'] ?? 0) > ROWS_BODY_BYTES_MAX) throw tooLarge();
  // Of other types no body is read.
  const format = formatOf(headers['content-type'] ?? '') as RowFormat;
  return readRows(bounded(body as Readable), format, columns);
}

/** A file of which nothing is used, because of some of its rows. */
export function rowsRefused({
  problems,
  problem_count,
}: {
  problems: readonly Problem[];
  problem_count: number;
}): Refusal {
  const named = problems.map((problem) => (problem.path === '' ? { ...problem, path: 'body' } : problem));
  return broken('rows-refused', named, problem_count);
}

async function* bounded(body: Readable): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  // Destroying the body, as the iterator otherwise does when its reader stops early, would destroy the response too.
  for await (const part of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > ROWS_BODY_BYTES_MAX) throw tooLarge();
    yield part;
  }
}

function tooLarge(): Refusal {
  return new Refusal('too-large', `a file has at most ${ROWS_BODY_BYTES_MAX / 1024 / 1024} MiB`);
}
