import fastify, { type FastifyInstance } from 'fastify';
import type { RefusalCause, Verify } from './signature.ts';

/** The interface's events have about one KiB; what is larger is not one. */
export const BODY_LIMIT_BYTES = 256 * 1024;
/** Between the first byte of a request and the end of its headers. A sender on any network needs less. */
const HEADERS_TIMEOUT_MS = 5_000;
/** Between the first byte of a request and the end of its body: below the 15 s that the sender gives us. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A connection on which nothing moves, a reader that does not read included. */
const IDLE_TIMEOUT_MS = 30_000;
/** How often the limits above are looked at. */
const TIMEOUT_CHECK_MS = 1_000;
/** Connections at once; the provider uses few. Beyond it new ones are refused, and memory stays bounded. */
const CONNECTIONS = 1_024;
/** A refused delivery is asked back after this; the provider has its own schedule and may overrule it. */
const RETRY_AFTER_SECONDS = 5;

export type ReceiverParts = {
  verify: Verify;
  /** Resolves when the event is durable; throws when it is not stored. */
  accept: (arrival: { eventId: string; body: Buffer }) => Promise<void>;
  refuse: (cause: RefusalCause) => void;
  /** Whether this process can commit now. */
  isReady: () => Promise<boolean>;
};

/**
 * The public listener: `POST /webhooks`, `GET /livez`, `GET /readyz`, nothing else. Raw bytes of any content type,
 * no content encoding. Answers carry no body: the sender stores what it gets. TLS ends in front of it.
 */
export function createReceiver(parts: ReceiverParts): FastifyInstance {
  const { verify, accept, refuse, isReady } = parts;
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 100 },
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: TIMEOUT_CHECK_MS },
  });
  app.server.maxConnections = CONNECTIONS;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    // The parser's own refusals (too large, a lying length) keep their status; the rest is ours and is retried.
    const status = error.statusCode ?? 503;
    if (status >= 500) reply.header('retry-after', RETRY_AFTER_SECONDS);
    return reply.code(status >= 500 ? 503 : status).send();
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send());

  app.post('/webhooks', {
    onRequest: (request, reply, done) => {
      if (request.headers['content-encoding'] !== undefined) reply.code(415).send();
      else done();
    },
    handler: async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const verdict = verify(request.headers, body);
      if ('refused' in verdict) {
        refuse(verdict.refused);
        return reply.code(401).send();
      }
      await accept({ eventId: verdict.eventId, body });
      return reply.code(204).send();
    },
  });
  app.get('/livez', (_request, reply) => reply.code(200).send());
  app.get('/readyz', async (_request, reply) => reply.code((await isReady()) ? 200 : 503).send());
  return app;
}
