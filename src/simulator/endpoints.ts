import { createHash } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { census } from '../contract/census.ts';
import type { Checker } from '../contract/check.ts';
import { compensationChange, demographic, newHire, termination } from '../contract/employment.ts';
import { parseJson } from '../contract/json.ts';
import { CONTROL_PATH, detailsOf, refuse } from './control.ts';
import type { Fault, RequestFault } from './faults.ts';
import type { ProviderOptions } from './provider.ts';
import type { ReceivedRequest, RequestKind } from './record.ts';
import type { Unknown, Workforce } from './workforce.ts';

/** A census of several hundred thousand employees. */
const CENSUS_MAX_BYTES = 256 * 1024 * 1024;

const CHANGE_MAX_BYTES = 1024 * 1024;

/** Ids may have 255 characters, each up to 12 when percent-encoded. */
const PATH_PARAMETER_MAX_LENGTH = 255 * 12;

const WRONG_KEY = 'the API key is missing or wrong';

type EndpointsOptions = Pick<ProviderOptions, 'now' | 'wait' | 'closing' | 'faults'> & {
  apiKey: () => string;
  workforce: Workforce;
  received: (request: ReceivedRequest) => void;
  censusAccepted: (employerId: string) => void;
};

/**
 * Creates the five endpoints of the contract. Where the contract is silent, they respond as common services do: 200 with
 * `{}` when applied, else `{"error", "details"}` with 401 for a wrong key, 422 for a body that breaks the contract, 404
 * for an unknown employer or employee. Other addresses respond 404 without JSON. A fault takes precedence.
 */
export function createEndpoints(options: EndpointsOptions) {
  const { workforce } = options;
  const app = Fastify({
    bodyLimit: CHANGE_MAX_BYTES,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: PATH_PARAMETER_MAX_LENGTH },
  });
  readStrictly(app);
  app.addHook('onRequest', async (request, reply) => {
    if (isControl(request)) return;
    if (request.headers.authorization !== `Bearer ${options.apiKey()}`) return refuse(reply, 401, WRONG_KEY);
  });
  app.addHook('onSend', async (request, reply) => {
    if (isControl(request) || request.recorded) return;
    // It reached no endpoint: an unknown address, a wrong key, an unreadable body.
    const nothing = { kind: null, subject: null, fault: null, applied: false, repeated: false };
    options.received({ ...seen(request, options.now()), ...nothing, status: reply.statusCode });
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).type('text/plain').send('Not Found\n'));
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const status = error.statusCode ?? 500;
    const details = status === 400 ? { body: error.message } : {};
    return refuse(reply, status, STATUS_CODES[status] ?? 'Error', details);
  });

  const hanging = new Set<FastifyReply>();
  const post = poster(app, options, hanging);
  post('census', CENSUS_MAX_BYTES, census, (body, employerId) => {
    const unknown = workforce.replaceAll(employerId, body);
    if (unknown === null) options.censusAccepted(employerId);
    return unknown;
  });
  post('new-hire', CHANGE_MAX_BYTES, newHire, workforce.hire);
  post('termination', CHANGE_MAX_BYTES, termination, workforce.terminate);
  post('demographic', CHANGE_MAX_BYTES, demographic, workforce.move);
  post('compensation-change', CHANGE_MAX_BYTES, compensationChange, workforce.changeCompensation);
  return {
    app,
    /** Resets hanging requests, as a restarted service does. */
    resetHanging: (): void => {
      for (const reply of hanging) resetConnection(reply);
    },
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body's text; null if no body was read. */
    bodyHash: string | null;
    recorded: boolean;
  }
}

type SimulatedResponse = {
  status: number;
  body: object;
  applied?: boolean;
  repeated?: boolean;
  headers?: Readonly<Record<string, string>>;
};

/** Returns a function that adds an endpoint. All share the applied idempotency keys. */
function poster(app: FastifyInstance, options: EndpointsOptions, hanging: Set<FastifyReply>) {
  const { workforce, faults, now, wait, closing } = options;
  const appliedKeys = new Set<string>();
  /** How faults withhold the complete response. */
  const withholdings: Partial<Record<RequestFault, (reply: FastifyReply) => void>> = {
    hang: (reply) => {
      hanging.add(reply);
      reply.raw.once('close', () => hanging.delete(reply));
    },
    reset: resetConnection,
    'lost-response': resetConnection,
    'half-response': ({ raw }) => {
      raw.writeHead(200, { 'content-type': 'application/json', 'content-length': 50 });
      raw.write('{"half":', () => raw.destroy());
    },
  };

  return <T>(
    kind: RequestKind,
    bodyLimit: number,
    checker: Checker<T>,
    apply: (body: T, employerId: string) => Unknown,
  ): void => {
    const judge = (request: FastifyRequest, employerId: string, ignoresKeys: boolean): SimulatedResponse => {
      const { body } = request;
      const key = keyOf(request);
      if (key !== null && !ignoresKeys && appliedKeys.has(key)) {
        return { status: 200, body: {}, repeated: true, headers: { 'idempotent-replayed': 'true' } };
      }
      if (!checker.accepts(body)) {
        return refused(422, 'the request breaks the contract', detailsOf(checker.problems(body)));
      }
      const unknown = apply(body, employerId);
      if (unknown !== null) return refused(404, `${unknown} not found`);
      // Only applied requests are remembered: a rejected one changed nothing and is judged again.
      if (key !== null) appliedKeys.add(key);
      return { status: 200, body: {}, applied: true };
    };
    const path = kind === 'census' ? '/employer/:employer_id/census' : `/employee-changes/${kind}`;
    app.post<{ Params: { employer_id?: string } }>(path, { bodyLimit }, async (request, reply) => {
      const { employer_id: employerId = '' } = request.params;
      const { fault, ignoresKeys, delayMs } = faults.meetRequest(idsOf(request.body, employerId, workforce));
      const decision = decisionBy(fault) ?? judge(request, employerId, ignoresKeys);
      const { status, body, applied = false, repeated = false, headers = {} } = decision;
      const name = (fault?.name as RequestFault) ?? null;
      const withhold = withholdings[name];
      request.recorded = true;
      const subject = subjectOf(kind, request.body, employerId);
      const handled = { status: withhold === undefined ? status : null, fault: name, applied, repeated };
      options.received({ ...seen(request, now()), kind, subject, ...handled });
      if (delayMs > 0) await wait(delayMs, closing).catch(() => {});
      if (withhold === undefined) return reply.code(status).headers(headers).send(body);
      reply.hijack();
      withhold(reply);
      return reply;
    });
  };
}

/** Returns every employer and employee that a request is about: a fault may apply to any of them. */
function idsOf(body: unknown, employerId: string, workforce: Workforce): string[] {
  const { employer_id: hiredBy, employee_id: employeeId } = (body ?? {}) as Record<string, unknown>;
  const named = [employerId, hiredBy, employeeId].filter((id): id is string => typeof id === 'string');
  return typeof employeeId === 'string' ? [...named, ...workforce.employersOf(employeeId)] : named;
}

function subjectOf(kind: RequestKind, body: unknown, employerId: string): string | null {
  if (kind === 'census') return `employer:${employerId}`;
  const { employee_id: id } = (body ?? {}) as Record<string, unknown>;
  return typeof id === 'string' ? `employee:${id}` : null;
}

/** Accepts only JSON, with the contract's strict parser. */
function readStrictly(app: FastifyInstance): void {
  app.decorateRequest('bodyHash', null);
  app.decorateRequest('recorded', false);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    request.bodyHash = createHash('sha256').update(text).digest('hex');
    const parsed = parseJson(text);
    if (parsed.ok) return done(null, parsed.value);
    done(Object.assign(new Error(parsed.reason), { statusCode: 400 }));
  });
}

function keyOf(request: FastifyRequest): string | null {
  const key = request.headers['idempotency-key'];
  return typeof key === 'string' && key !== '' ? key : null;
}

function isControl({ url }: FastifyRequest): boolean {
  return url === CONTROL_PATH;
}

function seen(request: FastifyRequest, at: Date) {
  const { method, url: path, body, bodyHash } = request;
  return { at, method, path, idempotencyKey: keyOf(request), body: body ?? null, bodyHash };
}

function resetConnection(reply: FastifyReply): void {
  reply.request.raw.socket.resetAndDestroy();
}

function refused(status: number, error: string, details: object = {}): SimulatedResponse {
  return { status, body: { error, details } };
}

/** Returns what a fault decides before anything is applied, or null. */
function decisionBy(fault: Fault | null): SimulatedResponse | null {
  switch (fault?.name) {
    case 'rate-limit': {
      const seconds = String(Math.ceil(fault.value / 1_000));
      return { ...refused(429, 'too many requests'), headers: { 'retry-after': seconds } };
    }
    case 'error':
      return refused(fault.value, 'the service is in trouble');
    case 'wrong-key':
      return refused(401, WRONG_KEY);
    case 'forbidden':
      return refused(403, 'this key may not do that here');
    case 'hang':
    case 'reset':
      return { status: 0, body: {} };
    default:
      return null;
  }
}
