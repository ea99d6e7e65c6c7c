/** The private listener, for the payroll system and its operators. */
import fastifyCookie from '@fastify/cookie';
import fastify, { type FastifyError, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { handled } from '../payroll/compute/queue.ts';
import {
  discountPauses,
  endSlowBodies,
  hasOneHost,
  isBodyPending,
  limitConnections,
  protectResponses,
  refuseProtocol,
} from '../security/listener.ts';
import { noteRequest } from '../telemetry/counts.ts';
import { note } from '../telemetry/metric.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';
import { createAuthorize, createFailedAttempt, type FailedAttempt } from './auth.ts';
import { BODY_LIMIT_BYTES, readJsonBodies, wrongContentType } from './bodies.ts';
import { createEmployerLimit, refuseLimited } from './employers.ts';
import { registerOperations } from './http.ts';
import { collectRoutes, referenceRoutes } from './openapi.ts';
import { OPERATIONS } from './operations.ts';
import { shedLoad } from './pressure.ts';
import { Refusal, refusalOf, sendRefusal } from './problem.ts';
import { createRefusedCaller, logRefusal, type RefusedCaller } from './refusal-log.ts';
import { type Api, type ApiParts, createRouteTable, type RouteTable } from './route.ts';
import { healthRoutes, metricsRoutes } from './routes/monitoring.ts';
import { compileValidator } from './validation.ts';

/** An id in a path: 255 characters, each up to 12 when percent-encoded. */
const PATH_PARAMETER_MAX_LENGTH = 255 * 12;
/** The longest time from the first byte of a request to the end of its headers. */
const HEADERS_TIMEOUT_MS = 5_000;
/** The same to the end of its body: a census of 256 MiB over a slow network. */
const REQUEST_TIMEOUT_MS = 10 * 60_000;
/** The longest idle time of a connection. A census is added to the roster before its response is sent. */
const IDLE_TIMEOUT_MS = 5 * 60_000;
const TIMEOUT_CHECK_MS = 1_000;
/** Concurrent connections; payroll has a handful. More are refused, so that memory stays bounded. */
const CONNECTIONS = 256;

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route as declared, for the tests that go through all of them. */
    routeTable: RouteTable;
    failedAttempt: FailedAttempt;
    /** Logs that a caller was refused. */
    refusedCaller: RefusedCaller;
    /** Responds to a signed-in person whose page does not exist; null for other callers. The console sets it. */
    unknownPage: ((request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | null>) | null;
  }
}

/** Builds the listener without starting it; `ready()` and `listen()` reject when a route declares no scope, action or employer rule. */
export function createApi(parts: ApiParts): Api {
  const { elapsed, log, version, counts, proxies } = parts;
  const app: Api = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    // Only their `X-Forwarded-For` and `X-Forwarded-Proto` are believed.
    trustProxy: proxies.length > 0 && [...proxies],
    routerOptions: { maxParamLength: PATH_PARAMETER_MAX_LENGTH },
    schemaController: { compilersFactory },
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Checked below. Node's own refusal has no header of ours.
      requireHostHeader: false,
    },
    frameworkErrors: (error, _request, reply) =>
      sendRefusal(reply.header('connection', 'close'), refusalOf(error)),
    clientErrorHandler: refuseProtocol,
  });
  const logDropped = rateLimited(({ count }) =>
    log.warn({ count }, 'connections were dropped: the private listener reached its connection limit'),
  );
  limitConnections(app.server, CONNECTIONS, () => logDropped({ code: '', count: 1 }));
  endSlowBodies(app.server);
  discountPauses(app.server, TIMEOUT_CHECK_MS);
  protectResponses(app.server);
  app.decorate('routeTable', createRouteTable());
  app.decorate('unknownPage', null);
  app.decorate('refusedCaller', createRefusedCaller(log));
  app.decorate('failedAttempt', createFailedAttempt(elapsed));
  app.decorateRequest('caller', null);
  app.decorateRequest('session', null);
  app.addHook('onRoute', app.routeTable.declare);
  shedLoad(app, parts);
  app.register(fastifyCookie);
  app.addHook('onRequest', async ({ raw }) => {
    if (!hasOneHost(raw)) throw new Refusal('INVALID_REQUEST', 'Send exactly one Host header.');
  });
  // The framework would read the body of a request to an unknown path first, which needs no token.
  app.addHook('onRequest', async (request) => {
    if (request.is404 && isBodyPending(request.raw)) throw noRoute(app.routeTable, request);
  });
  app.addHook('onRequest', createAuthorize(parts, app.failedAttempt));
  app.addHook('onRequest', refuseLimited);
  app.addHook('preHandler', createEmployerLimit(parts));
  app.addHook('preHandler', (_request, { raw }, done) => {
    const client = new AbortController();
    // The request itself, and `request.signal` with it, closes as soon as its body is read.
    raw.once('close', () => {
      if (!raw.writableFinished) client.abort();
    });
    handled(client.signal, done);
  });
  app.addHook('onSend', async (request, reply) => {
    // The rest of a body that no route reads would keep the connection open.
    if (isBodyPending(request.raw)) reply.header('connection', 'close');
  });
  // To the last byte of the response.
  app.addHook('onResponse', async ({ method, routeOptions }, reply) => {
    // Unknown paths are counted under one name, because a caller can invent any number of them.
    const route = routeOptions.url === undefined ? 'none' : `${method} ${routeOptions.url}`;
    const seconds = reply.elapsedTime / 1_000;
    noteRequest(counts, route, reply.statusCode, seconds);
    const { runWork } = routeOptions.config;
    if (runWork !== undefined && reply.statusCode < 400) note(counts.runs[runWork], seconds);
  });
  readJsonBodies(app);
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const isWrongType = error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE';
    const refusal = isWrongType ? wrongContentType(request.server) : refusalOf(error);
    logRefusal(parts, error, refusal, request);
    return sendRefusal(reply, refusal);
  });
  app.setNotFoundHandler(
    async (request, reply) =>
      (await app.unknownPage?.(request, reply)) ?? sendRefusal(reply, noRoute(app.routeTable, request)),
  );
  collectRoutes(app, version);
  app.register(async (api) => {
    for (const declare of ROUTES) declare(api as Api, parts);
    for (const [tag, operations] of OPERATIONS) registerOperations(api as Api, tag, operations, parts);
    referenceRoutes(api as Api);
  });
  return app;
}

const ROUTES = [metricsRoutes, healthRoutes] as const;

/** Handlers build responses field by field and tests compare each with its schema, so serialization does not filter. */
const compilersFactory = {
  buildValidator: () => compileValidator,
  buildSerializer: () => () => JSON.stringify,
} as unknown as NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>;

function noRoute(table: RouteTable, { url, method }: FastifyRequest): Refusal {
  const methods = table.methodsOf(url.replace(/[?#].*$/s, ''));
  if (methods.length === 0 || methods.includes(method))
    return new Refusal('NOT_FOUND', 'This path does not exist. See /openapi.json.');
  const allow = [...new Set(methods)].sort().join(', ');
  return new Refusal('METHOD_NOT_ALLOWED', `This path does not support ${method}. Use ${allow}.`, {
    headers: { allow },
  });
}
