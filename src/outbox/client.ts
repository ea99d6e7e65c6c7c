import { Readable } from 'node:stream';
import { brotliDecompressSync, unzipSync, zstdDecompressSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.ts';
import { type BenefitsConfig, currentApiKey } from '../config.ts';
import { pathSegment } from '../contract/fields.ts';
import { codeOf } from '../errors.ts';
import { createTransport, failureCode, PROXY_REFUSAL, type Transport } from '../outgoing.ts';
import { type AttemptOutcome, type BodyKind, retryAfterMs } from './retry.ts';
import type { Post } from './sender.ts';

export type BenefitsClient = {
  /** Whether it has an API key. Without one it must not post. */
  readonly hasKey: boolean;
  /** Never throws; errors are outcomes. */
  post(post: Post, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Reads the key from its file again, if it has one. Throws CONFIG if the file is unreadable. */
  refreshKey(): void;
  close(): Promise<void>;
};

/** Creates the HTTP client of the benefits service: keep-alive, no redirects, bounded responses. */
export function createClient(
  benefits: BenefitsConfig,
  version: string,
  now: Clock,
  { dispatcher, timeout }: Transport = createTransport(),
): BenefitsClient {
  const { origin, pathname } = new URL(benefits.baseUrl);
  const base = pathname.replace(/(?<!\/)\/+$/, '');
  let key = benefits.apiKey;

  return {
    hasKey: key !== null,
    async post(post, signal) {
      const segments = post.path.map(pathSegment);
      if (segments.includes(null)) return { responded: false, code: 'UNSENDABLE_PATH', sent: false };
      const { body, timeouts } = post;
      const streamed = !(body instanceof Uint8Array);
      const whole = AbortSignal.any([signal, timeout(timeouts.totalMs)]);
      try {
        const response = await dispatcher.request({
          origin,
          path: `${base}/${segments.join('/')}`,
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'content-length': String(body.length),
            'idempotency-key': post.idempotencyKey,
            'user-agent': `benefits-sidecar/${version}`,
            accept: 'application/json',
            'accept-encoding': 'identity',
          },
          body: streamed ? Readable.from(body.chunks, { objectMode: false }) : body,
          signal: whole,
          headersTimeout: timeouts.idleMs,
          bodyTimeout: timeouts.idleMs,
        });
        return await readResponse(response, now());
      } catch (error) {
        // Only the code: messages may quote what was sent.
        const code = failureCode(error);
        return { responded: false, code, sent: !NOT_SENT.has(code) && !code.startsWith(PROXY_REFUSAL) };
      }
    },
    refreshKey() {
      key = currentApiKey(benefits);
    },
    close: () => dispatcher.destroy(),
  };
}

/** The most bytes read of a response: a line per employee of a census. A cut success is retried. */
export const RESPONSE_READ_BYTES = 1024 * 1024;

/** Throws when the connection breaks before the end of the response. */
async function readResponse(response: Dispatcher.ResponseData, now: Date): Promise<AttemptOutcome> {
  const { statusCode: status, headers } = response;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response.body as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    // Leaving the loop destroys the body and with it the connection.
    if (bytes > RESPONSE_READ_BYTES) break;
  }
  const isCut = bytes > RESPONSE_READ_BYTES;
  const read = Buffer.concat(parts).subarray(0, RESPONSE_READ_BYTES);
  const body = isCut ? read : decoded(read, textOf(headers['content-encoding']));
  const dated = Date.parse(textOf(headers.date) ?? '');
  const at = Number.isNaN(dated) ? now : new Date(dated);
  return {
    responded: true,
    status,
    content: isCut || body === null ? 'too-long' : contentOf(body),
    retryAfterMs: retryAfterMs(textOf(headers['retry-after']), at),
    response: body ?? read,
  };
}

/** Decoders by content encoding. Some services and gateways compress without being asked. */
const DECODERS: Readonly<Record<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer>> = {
  gzip: unzipSync,
  'x-gzip': unzipSync,
  deflate: unzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/** Returns a body without its encoding, as it is if it cannot be decoded, or null if it is too long then. */
function decoded(body: Buffer, encoding: string | undefined): Buffer | null {
  const decode = DECODERS[encoding?.trim().toLowerCase() ?? ''];
  if (decode === undefined || body.length === 0) return body;
  try {
    return decode(body, { maxOutputLength: RESPONSE_READ_BYTES });
  } catch (error) {
    return codeOf(error) === 'ERR_BUFFER_TOO_LARGE' ? null : body;
  }
}

/** Ignores the content type: some services send JSON as text. Blanks are not JSON, however many. */
function contentOf(body: Buffer): BodyKind {
  if (body.length === 0) return 'empty';
  // Also removes a byte order mark, which JSON.parse rejects.
  const text = body.toString('utf8').trim();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return 'json';
    // Some services write `Success`.
    const fields = Object.entries(value).map(([name, field]) => ({ name: name.toLowerCase(), field }));
    const has = (names: readonly string[], is: (field: unknown) => boolean) =>
      fields.some(({ name, field }) => names.includes(name) && is(field));
    if (has(['error'], isStated)) return 'json-error';
    return has(['errors'], isStated) || has(['success', 'ok'], isFalse) ? 'json-failure' : 'json';
  } catch {
    return 'not-json';
  }
}

/** Returns whether a field that reports errors has one: a text, an object, a list or `true`. */
function isStated(field: unknown): boolean {
  if (typeof field === 'string') return field.trim() !== '';
  return typeof field === 'object' && field !== null ? Object.keys(field).length > 0 : Boolean(field);
}

/** Some services write `false` as a text. */
function isFalse(field: unknown): boolean {
  return field === false || (typeof field === 'string' && field.trim().toLowerCase() === 'false');
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** Errors that occur before the service can have received the whole request. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  // Our own body could not be decrypted or ended early: nothing applies an incomplete request.
  'DATA_KEY_MISSING',
  'DECRYPTION_FAILED',
  'CENSUS_CUT',
]);
