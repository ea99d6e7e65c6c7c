import { STATUS_CODES } from 'node:http';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { census } from '../contract/census.ts';
import type { Checker, Problem } from '../contract/check.ts';
import { compensationChange } from '../contract/compensation-change.ts';
import { demographic } from '../contract/demographic.ts';
import { parseJson } from '../contract/json.ts';
import { newHire } from '../contract/new-hire.ts';
import { termination } from '../contract/termination.ts';
import type { ReceivedRequest } from './record.ts';
import type { Unknown, Workforce } from './workforce.ts';

/** The census of an employer of several hundred thousand employees. */
const CENSUS_MAX_BYTES = 256 * 1024 * 1024;

/** An employment change is about one person; more than this is no such request. */
const CHANGE_MAX_BYTES = 1024 * 1024;

/** Ids may have 255 characters, each up to 12 when percent-encoded. */
const PATH_PARAMETER_MAX_LENGTH = 255 * 12;

/** Marks the answer to a repeated Idempotency-Key, as services that honour the header do. */
const REPEATED = 'idempotent-replayed';

export type EndpointsOptions = {
  apiKey: string;
  now: () => Date;
  workforce: Workforce;
  /** Called for every answered request, just before its answer goes out. */
  received: (request: ReceivedRequest) => void;
  /** Called when a census was accepted. */
  censusAccepted: (employerId: string) => void;
};

/**
 * The five endpoints of the interface. What the interface leaves open is answered as services of this kind do:
 * 200 with `{}` when applied; otherwise `{"error", "details"}` with 401 for a wrong key, 422 for a breach of the
 * contract (details: field -> rule, never a value), 404 for an unknown employer or employee. An address that is no
 * endpoint answers 404 without JSON, as any web server would.
 */
export function createEndpoints(options: EndpointsOptions): FastifyInstance {
  const { workforce } = options;
  const app = Fastify({
    bodyLimit: CHANGE_MAX_BYTES,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: PATH_PARAMETER_MAX_LENGTH },
  });
  readStrictly(app);
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization !== `Bearer ${options.apiKey}`) {
      return refuse(reply, 401, 'the API key is missing or wrong');
    }
  });
  app.addHook('onSend', async (request, reply) => {
    options.received(received(request, reply, options.now()));
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).type('text/plain').send('Not Found\n'));
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const status = error.statusCode ?? 500;
    return refuse(
      reply,
      status,
      STATUS_CODES[status] ?? 'Error',
      status === 400 ? { body: error.message } : {},
    );
  });

  const post = poster(app);
  post('/employer/:employer_id/census', CENSUS_MAX_BYTES, census, (body, employerId) => {
    const unknown = workforce.replaceAll(employerId, body);
    if (unknown === null) options.censusAccepted(employerId);
    return unknown;
  });
  post('/employee-changes/new-hire', CHANGE_MAX_BYTES, newHire, workforce.hire);
  post('/employee-changes/termination', CHANGE_MAX_BYTES, termination, workforce.terminate);
  post('/employee-changes/demographic', CHANGE_MAX_BYTES, demographic, workforce.move);
  post(
    '/employee-changes/compensation-change',
    CHANGE_MAX_BYTES,
    compensationChange,
    workforce.changeCompensation,
  );
  return app;
}

/** Adds one endpoint after another; all of them share the idempotency keys that were applied. */
function poster(app: FastifyInstance) {
  const appliedKeys = new Set<string>();
  return <T>(
    path: string,
    bodyLimit: number,
    checker: Checker<T>,
    apply: (body: T, employerId: string) => Unknown,
  ): void => {
    app.post<{ Params: { employer_id?: string } }>(path, { bodyLimit }, (request, reply) => {
      const key = keyOf(request);
      if (key !== null && appliedKeys.has(key)) return reply.header(REPEATED, 'true').send({});
      const { body } = request;
      if (!checker.accepts(body)) {
        return refuse(reply, 422, 'the request breaks the contract', detailsOf(checker.problems(body)));
      }
      const unknown = apply(body, request.params.employer_id ?? '');
      if (unknown !== null) return refuse(reply, 404, `${unknown} not found`);
      // A refused request changed nothing, so only an applied one is remembered: the same again is judged again.
      if (key !== null) appliedKeys.add(key);
      return reply.send({});
    });
  };
}

/** JSON only, read with the contract's own strictness. */
function readStrictly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (_request, text, done) => {
    const parsed = parseJson(text);
    if (parsed.ok) return done(null, parsed.value);
    done(Object.assign(new Error(parsed.reason), { statusCode: 400 }));
  });
}

function refuse(
  reply: FastifyReply,
  status: number,
  error: string,
  details: Readonly<Record<string, string>> = {},
): FastifyReply {
  return reply.code(status).send({ error, details });
}

/** Field path -> rule; a rule of the whole body is named `body`. */
function detailsOf(problems: readonly Problem[]): Record<string, string> {
  return Object.fromEntries(problems.map(({ path, rule }) => [path === '' ? 'body' : path, rule]));
}

function keyOf(request: FastifyRequest): string | null {
  const key = request.headers['idempotency-key'];
  return typeof key === 'string' && key !== '' ? key : null;
}

function received(request: FastifyRequest, reply: FastifyReply, at: Date): ReceivedRequest {
  return {
    at,
    method: request.method,
    path: request.url,
    idempotencyKey: keyOf(request),
    status: reply.statusCode,
    body: request.body ?? null,
    repeated: reply.hasHeader(REPEATED),
  };
}
