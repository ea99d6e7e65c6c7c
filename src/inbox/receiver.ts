import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fastify, { type FastifyInstance } from 'fastify';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import {
  addressOf,
  closeListener,
  discountPauses,
  hasOneHost,
  isBodyPending,
  limitConnections,
  refuseProtocol,
} from '../security/listener.ts';
import {
  createReceivingCounts,
  type ReceivedCounts,
  type ReceivingCounts,
  type ThreadCounts,
} from '../telemetry/counts.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';
import type { Arrival } from './inbox.ts';
import { createVerify, UNVERIFIED_CAUSES, type Verify } from './signature.ts';

/** The contract's events have about one KiB; a larger body is not one of them. */
export const BODY_LIMIT_BYTES = 256 * 1024;
/**
 * Maximum size of a body that is verified at once. Each larger body waits for its own turn of the event loop, because many of
 * them would delay every delivery.
 */
const SMALL_BYTES = 16 * 1024;
/** How long a connection may take, and how often the first two limits are checked. */
const TIMES = {
  /** Until the end of a request's headers, from its first byte. */
  headersMs: 5_000,
  /** Until the end of a request's body, from its first byte: below the 15 s that the sender waits. */
  requestMs: 10_000,
  /** Without traffic on an open request, for example if the sender does not read the response. */
  idleMs: 30_000,
  /** Between requests: longer than load balancers wait, so that they close first and lose no request. */
  keepAliveMs: 75_000,
  checkMs: 1_000,
};
/** Connections at once; the provider uses few. More are refused: unverified bodies take at most 128 MiB. */
const CONNECTIONS = 512;
/** When to retry a refused delivery. The provider has its own schedule and may ignore it. */
const RETRY_AFTER_SECONDS = 5;

declare module 'fastify' {
  interface FastifyRequest {
    /** When its headers had arrived, on the clock of `performance.now`. */
    arrivedAt: number;
  }
}

/** Why a request was refused: 401, 404 twice, 415, 413, and 400 or 408. */
export const REFUSAL_CAUSES = [
  ...UNVERIFIED_CAUSES,
  'path',
  'method',
  'compressed',
  'size',
  'unreadable',
] as const;
/** `unstored`: it was verified and could not be stored; the response was 503. */
export type RefusalCause = (typeof REFUSAL_CAUSES)[number] | 'unstored';

/** What senders and proxies name as the encoding of a body that has none. */
const NO_ENCODING = /^[ ,]*((identity|utf-?8)[ ,]*)*$/i;
/** `/webhooks` as people type it into the provider's portal. */
const WEBHOOKS = /^\/+webhooks\/*(\?|$)/i;

/** The part of the configuration that the receiver needs. It holds no key and no token. */
export type ReceiverConfig = Pick<Config, 'receiver' | 'webhookSecrets'>;

/** The functions that the receiver calls, on its own thread or on the main thread. */
export type Downstream = {
  /** Resolves when the event is on disk. Rejects if it is not. */
  accept: (arrival: Arrival) => Promise<void>;
  refused: (cause: RefusalCause) => void;
  /** Reports connections dropped because the listener is full, at most once a second. */
  dropped: (count: number) => void;
  /** Whether the thread that stores responds. */
  isAlive: () => Promise<boolean>;
  /** Whether this process can commit. */
  isReady: () => Promise<boolean>;
};

export type ReceiverCounts = {
  received: ReceivedCounts;
  /** By thread name. Empty if the receiver has no separate thread. */
  threads: Readonly<Record<string, ThreadCounts>>;
};

export type Receiver = {
  readonly address: string;
  counts(): Promise<ReceiverCounts>;
  /** Refuses new connections and finishes requests in flight. Can be called repeatedly. */
  stop(): Promise<void>;
};

export async function startReceiver(config: ReceiverConfig, downstream: Downstream): Promise<Receiver> {
  const counts = createReceivingCounts(systemClock, REFUSAL_CAUSES);
  const reportDropped = rateLimited(({ count }) => downstream.dropped(count));
  const app = createReceiver({
    ...downstream,
    verify: createVerify(config.webhookSecrets, systemClock),
    acknowledged: counts.acknowledged,
    refuse: countedRefusals(counts, downstream),
    dropped: () => reportDropped({ code: '', count: 1 }),
  });
  await app.listen({ ...config.receiver });
  return {
    address: addressOf(app),
    counts: async () => ({ received: counts.read(), threads: {} }),
    stop: () => closeListener(app),
  };
}

/** Returns a function that counts a refused request here and downstream. */
export function countedRefusals(counts: ReceivingCounts, { refused }: Pick<Downstream, 'refused'>) {
  return (cause: RefusalCause): void => {
    if (cause === 'unstored') counts.unstored();
    else counts.refused(cause);
    refused(cause);
  };
}

export type ReceiverParts = Pick<Downstream, 'accept' | 'isAlive' | 'isReady'> & {
  verify: Verify;
  refuse: (cause: RefusalCause) => void;
  acknowledged: ReceivingCounts['acknowledged'];
  dropped?: () => void;
  /** Replaces some of `TIMES` in tests. */
  times?: Partial<typeof TIMES>;
};

/** Creates the public listener. It reads raw bytes of any type, and responds without a body: the sender stores it. */
export function createReceiver(parts: ReceiverParts): FastifyInstance {
  const { verify, accept, refuse, acknowledged, isAlive, isReady } = parts;
  const times = { ...TIMES, ...parts.times };
  /** Connections whose request was refused by the protocol: the body's parser then fails, too. */
  const unreadable = new WeakSet<Socket>();
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: times.requestMs,
    connectionTimeout: times.idleMs,
    keepAliveTimeout: times.keepAliveMs,
    forceCloseConnections: 'idle',
    // An address that cannot be decoded is not served, and the framework's own response would repeat it.
    frameworkErrors: (_error, _request, reply) => {
      refuse('path');
      reply.raw.writeHead(404, { 'content-length': 0, connection: 'close' }).end();
    },
    clientErrorHandler: (error, socket) => {
      // Health checks open connections and send nothing.
      if (socket.bytesRead > 0 && socket.writable) {
        unreadable.add(socket);
        refuse('unreadable');
      }
      refuseProtocol(error, socket);
    },
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false },
    http: { headersTimeout: times.headersMs, connectionsCheckingInterval: times.checkMs },
  });
  // Node.js would respond to these itself, uncounted: with 417 and without a response.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket) => {
    refuse('method');
    socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
  });
  limitConnections(app.server, CONNECTIONS, parts.dropped);
  discountPauses(app.server, times.checkMs);
  // The framework would read the body of a request to an unknown path first.
  app.addHook('onRequest', (request, reply, done) => {
    if (!hasOneHost(request.raw)) {
      refuse('unreadable');
      reply.code(400).send();
    } else if (request.is404) {
      refuse(WEBHOOKS.test(request.url) ? 'method' : 'path');
      reply.code(404).send();
    } else done();
  });
  // The rest of a body that no route reads would keep the connection open.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (isBodyPending(request.raw)) reply.header('connection', 'close');
    done(null, payload);
  });
  app.decorateRequest('arrivedAt', 0);
  const ownTurn = oneEachTurn();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setErrorHandler(({ statusCode = 503 }: { statusCode?: number }, request, reply) => {
    // The parser's own refusals keep their status. Other errors are ours, and the sender retries.
    if (statusCode >= 400 && statusCode < 500) {
      if (!unreadable.has(request.raw.socket)) refuse(statusCode === 413 ? 'size' : 'unreadable');
      return reply.code(statusCode).send();
    }
    refuse('unstored');
    return reply.code(503).header('retry-after', RETRY_AFTER_SECONDS).send();
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send());

  app.post('/webhooks', {
    onRequest: (request, reply, done) => {
      request.arrivedAt = performance.now();
      const encoding = request.headers['content-encoding'];
      if (encoding !== undefined && !NO_ENCODING.test(encoding)) {
        refuse('compressed');
        reply.code(415).send();
        return;
      }
      // The signature covers the bytes. The framework would reject a malformed content type.
      delete request.headers['content-type'];
      done();
    },
    handler: async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      if (body.length > SMALL_BYTES) await ownTurn();
      const verdict = verify(request.headers, body);
      if ('refused' in verdict) {
        refuse(verdict.refused);
        return reply.code(401).send();
      }
      await accept({ eventId: verdict.eventId, body });
      acknowledged(performance.now() - request.arrivedAt);
      return reply.code(204).send();
    },
  });
  app.get('/livez', async (_request, reply) => reply.code((await isAlive()) ? 200 : 503).send());
  app.get('/readyz', async (_request, reply) => reply.code((await isReady()) ? 200 : 503).send());
  return app;
}

/** Returns a function whose promises resolve in the order of the calls, one in each turn of the event loop. */
function oneEachTurn(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}
