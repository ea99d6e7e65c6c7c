/** Reads JSON bodies as strictly as the contract reads events. */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { parseJson } from '../contract/json.ts';
import { invalid, Refusal } from './problem.ts';

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]+)/i;

/** Some editors put it before a text; JSON has none (RFC 8259, 8.1). */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export function readJsonBodies(app: FastifyInstance): void {
  // A few compressed bytes could be gigabytes: nothing is ever inflated.
  app.addHook('onRequest', async ({ headers }) => {
    if ((headers['content-encoding'] ?? 'identity') === 'identity') return;
    throw new Refusal('unsupported-media-type', 'send the body without a content encoding');
  });
  // Every format that comes in is UTF-8: a text in another charset could be read, and would be another text.
  app.addHook('onRequest', async ({ headers }) => {
    const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
    if (charset === 'utf-8' || charset === 'utf8') return;
    throw new Refusal('unsupported-media-type', 'send the body in UTF-8');
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes: Buffer, done) => {
    if (bytes.length === 0) return done(null, undefined);
    if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
      return done(invalid([{ path: 'body', rule: 'begins with a byte order mark: leave it out' }]));
    }
    const parsed = isUtf8(bytes)
      ? parseJson(bytes.toString('utf8'))
      : ({ ok: false, reason: 'is not valid UTF-8' } as const);
    if (parsed.ok) done(null, parsed.value);
    else done(invalid([{ path: 'body', rule: parsed.reason }]));
  });
}
