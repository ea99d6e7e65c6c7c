/** Request bodies: JSON, read as strictly as the contract reads events, and large ones as streams. */

import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseJson } from '../contract/json.ts';
import { ROW_TYPES } from '../formats/rows.ts';
import { WORKBOOK_TYPE } from '../formats/workbook/bounds.ts';
import { BODY_TOO_LARGE, invalid, Refusal } from './problem.ts';
import type { ReadSlot } from './read-slots.ts';

/** The limit of a JSON body; most have a few hundred bytes. A census has its own limit. */
export const BODY_LIMIT_BYTES = 256 * 1024;

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]+)/i;

/** Some editors write it before a text. JSON must not have it (RFC 8259, 8.1). */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export function readJsonBodies(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ headers }) => {
    // Bodies are never decompressed, because a few bytes could become gigabytes.
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      throw new Refusal('UNSUPPORTED_MEDIA_TYPE', 'Send the body without a content encoding.');
    }
    // Text in another charset would decode to different text without an error.
    const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
    if (charset === 'utf-8' || charset === 'utf8') return;
    throw new Refusal('UNSUPPORTED_MEDIA_TYPE', 'Send the body in UTF-8.');
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes: Buffer, done) => {
    if (bytes.length === 0) return done(null, undefined);
    if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
      return done(invalid([{ path: 'body', rule: 'must not begin with a byte order mark' }]));
    }
    if (!isUtf8(bytes)) return done(invalid([{ path: 'body', rule: 'must be valid UTF-8' }]));
    const parsed = parseJson(bytes.toString('utf8'));
    if (parsed.ok) done(null, parsed.value);
    else done(invalid([{ path: 'body', rule: parsed.reason }]));
  });
}

/** Returns a body that was not sent as the listener would read it. Throws what the listener refuses. */
export function asJsonBody(body: object, bytesMax = BODY_LIMIT_BYTES): unknown {
  const text = JSON.stringify(body);
  if (Buffer.byteLength(text) > bytesMax) throw new Refusal('TOO_LARGE', BODY_TOO_LARGE);
  const parsed = parseJson(text);
  if (!parsed.ok) throw invalid([{ path: 'body', rule: parsed.reason }]);
  return parsed.value;
}

/** Passes bodies of these content types on as streams, for the routes of this context only. */
export function passStreams(app: FastifyInstance, types: readonly string[]): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser([...types], (_request, payload, done) => done(null, payload));
}

/** Returns the refusal of a body whose content type the routes of a context do not read. */
export function wrongContentType(context: FastifyInstance): Refusal {
  const known = new Set(['application/json', ...Object.values(ROW_TYPES), WORKBOOK_TYPE]);
  const types = [...known].filter((type) => context.hasContentTypeParser(type));
  return new Refusal('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${types.join(' or ')}.`);
}

/** Returns a request's streamed body. Throws an `Refusal` if there is none or it has more than `maxBytes`. */
export function streamedBody(
  { body, headers }: Pick<FastifyRequest, 'body' | 'headers'>,
  slot: ReadSlot,
  maxBytes: number,
  tooLarge: string,
): AsyncGenerator<Uint8Array> {
  if (body === undefined || body === null) throw invalid([{ path: 'body', rule: 'is required' }]);
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw new Refusal('TOO_LARGE', tooLarge);
  return bounded(body as Readable, slot, maxBytes, tooLarge);
}

async function* bounded(
  body: Readable,
  slot: ReadSlot,
  maxBytes: number,
  tooLarge: string,
): AsyncGenerator<Uint8Array> {
  // By default the iterator destroys the body when its reader stops early, and the response with it.
  const parts = body.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Uint8Array, undefined>;
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await slot.received(parts.next());
      if (done) return;
      bytes += value.length;
      if (bytes > maxBytes) throw new Refusal('TOO_LARGE', tooLarge);
      yield value;
    }
  } finally {
    // Not awaited: without a slot, a part that never arrives may still be requested.
    parts.return?.().catch(() => {});
  }
}

/** About 400,000 rows; an employer with 100,000 employees has 300,000. */
export const ROWS_BODY_BYTES_MAX = 64 * 1024 * 1024;
