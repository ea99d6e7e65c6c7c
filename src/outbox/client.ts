import { Readable } from 'node:stream';
import { Agent } from 'undici';
import type { Clock } from '../clock.ts';
import { type BenefitsConfig, currentApiKey } from '../config.ts';
import { failureOf } from './failure.ts';
import { readAnswer } from './response.ts';
import type { Outcome } from './retry.ts';
import type { Post } from './sender.ts';

/** A service that can't be reached says so within this, or not at all. */
const CONNECT_MS = 10_000;
/** Idle connections are kept this long: between the requests of one burst, not between bursts. */
const KEEP_ALIVE_MS = 10_000;

export type BenefitsClient = {
  /** Never throws: what went wrong is the outcome. */
  post(post: Post, signal: AbortSignal): Promise<Outcome>;
  /** Reads the key again from its file, if it has one. Throws `ConfigError` when that can't be read. */
  refreshKey(): void;
  close(): Promise<void>;
};

/**
 * A segment of a path, encoded; null when it can't be one: `.` and `..` would lead elsewhere however they are
 * written (RFC 3986, 6.2.2), and half a surrogate pair has no UTF-8.
 */
export function pathSegment(text: string): string | null {
  return text === '' || text === '.' || text === '..' || !text.isWellFormed()
    ? null
    : encodeURIComponent(text);
}

/** Speaks to the benefits service: keep-alive, no redirects followed, answers bounded. */
export function createClient(benefits: BenefitsConfig, version: string, now: Clock): BenefitsClient {
  const { origin, pathname } = new URL(benefits.baseUrl);
  const base = pathname.replace(/\/+$/, '');
  // HTTP/1.1 only: a connection that breaks then fails one request, not all that share it.
  const agent = new Agent({
    connect: { timeout: CONNECT_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    allowH2: false,
  });
  let key = benefits.apiKey;

  return {
    async post(post, signal) {
      const segments = post.path.map(pathSegment);
      if (segments.includes(null)) return { answered: false, code: 'UNSENDABLE_PATH', sent: false };
      const { body, patience } = post;
      const streamed = !(body instanceof Uint8Array);
      const whole = AbortSignal.any([signal, AbortSignal.timeout(patience.wholeMs)]);
      try {
        const answer = await agent.request({
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
          },
          body: streamed ? Readable.from(body.chunks, { objectMode: false }) : body,
          signal: whole,
          headersTimeout: patience.silenceMs,
          bodyTimeout: patience.silenceMs,
        });
        return await readAnswer(answer, now());
      } catch (error) {
        return failureOf(error);
      }
    },
    refreshKey() {
      key = currentApiKey(benefits);
    },
    close: () => agent.destroy(),
  };
}
