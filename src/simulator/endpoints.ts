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
import type { Problem } from '../errors.ts';
import { CONTROL_PATH } from './control.ts';
import type { Fault, Faults, RequestFault } from './faults.ts';
import type { Timer } from './provider.ts';
import type { ReceivedRequest, RequestKind } from './record.ts';
import type { Unknown, Workforce } from './workforce.ts';

/** A census of several hundred thousand employees. */
const CENSUS_MAX_BYTES = 256 * 1024 * 1024;

/** An employment change is about one person and much smaller. */
const CHANGE_MAX_BYTES = 1024 * 1024;

/** Ids may have 255 characters, each up to 12 when percent-encoded. */
const PATH_PARAMETER_MAX_LENGTH = 255 * 12;

/** Marks the response to a repeated Idempotency-Key, as common services do. */
const REPEATED = 'idempotent-replayed';

type EndpointsOptions = {
  /** Returns the currently valid key. */
  apiKey: () => string;
  now: () => Date;
  workforce: Workforce;
  faults: Faults;
  answering: Answering;
  /** Called for every request before its response is sent. */
  received: (request: ReceivedRequest) => void;
  /** Called when a census was accepted. */
  censusAccepted: (employerId: string) => void;
};

/**
 * Creates the five endpoints of the contract. Where the contract is silent, they respond as common services
 * do: 200 with `{}` when applied; otherwise `{"error", "details"}` with 401 for a wrong key, 422 for a body
 * that breaks the contract (details: field -> rule, never a value), 404 for an unknown employer or employee.
 * Other addresses respond 404 without JSON. A fault takes precedence.
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
    if (isControl(request)) return;
    if (request.headers.authorization !== `Bearer ${options.apiKey()}`) return refuse(reply, 401, WRONG_KEY);
  });
  app.addHook('onSend', async (request, reply) => {
    if (!isControl(request) && !request.recorded) options.received(received(request, reply, options.now()));
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

  const post = poster(app, options);
  post('census', CENSUS_MAX_BYTES, census, (body, employerId) => {
    const unknown = workforce.replaceAll(employerId, body);
    if (unknown === null) options.censusAccepted(employerId);
    return unknown;
  });
  post('new-hire', CHANGE_MAX_BYTES, newHire, workforce.hire);
  post('termination', CHANGE_MAX_BYTES, termination, workforce.terminate);
  post('demographic', CHANGE_MAX_BYTES, demographic, workforce.move);
  post('compensation-change', CHANGE_MAX_BYTES, compensationChange, workforce.changeCompensation);
  return app;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body's text; null if no body was read. */
    bodyHash: string | null;
    /** Whether the request is recorded already. */
    recorded: boolean;
  }
}

/** Returns a function that adds an endpoint. All share the applied idempotency keys. */
function poster(app: FastifyInstance, options: EndpointsOptions) {
  const { workforce, faults, answering, now } = options;
  const appliedKeys = new Set<string>();

  function judge<T>(
    request: FastifyRequest,
    checker: Checker<T>,
    apply: (body: T) => Unknown,
    ignoresKeys: boolean,
  ): Decision {
    const key = keyOf(request);
    if (key !== null && !ignoresKeys && appliedKeys.has(key)) {
      return { ...decided(200, {}), repeated: true, headers: { [REPEATED]: 'true' } };
    }
    const { body } = request;
    if (!checker.accepts(body)) {
      return refused(422, 'the request breaks the contract', detailsOf(checker.problems(body)));
    }
    const unknown = apply(body);
    if (unknown !== null) return refused(404, `${unknown} not found`);
    // Only applied requests are remembered: a rejected one changed nothing and is judged again.
    if (key !== null) appliedKeys.add(key);
    return { ...decided(200, {}), applied: true };
  }

  return <T>(
    kind: RequestKind,
    bodyLimit: number,
    checker: Checker<T>,
    apply: (body: T, employerId: string) => Unknown,
  ): void => {
    const path = kind === 'census' ? '/employer/:employer_id/census' : `/employee-changes/${kind}`;
    app.post<{ Params: { employer_id?: string } }>(path, { bodyLimit }, async (request, reply) => {
      const employerId = request.params.employer_id ?? '';
      const met = faults.meetRequest(idsOf(request.body, employerId, workforce));
      const decision =
        decisionBy(met.fault) ??
        judge(request, checker, (body: T) => apply(body, employerId), met.ignoresKeys);
      const silent = isSilent(met.fault);
      request.recorded = true;
      options.received({
        ...seen(request, now()),
        ...{ kind, subject: subjectOf(kind, request.body, employerId) },
        ...{ status: silent ? null : decision.status, fault: (met.fault?.name as RequestFault) ?? null },
        ...{ applied: decision.applied, repeated: decision.repeated },
      });
      await answering.pause(met.delayMs);
      if (silent) {
        keepBack(answering, met.fault, reply);
        return reply;
      }
      return reply.code(decision.status).headers(decision.headers).send(decision.body);
    });
  };
}

function keepBack(answering: Answering, fault: Fault | null, reply: FastifyReply): void {
  if (fault?.name === 'hang') answering.hang(reply);
  else if (fault?.name === 'half-answer') answering.half(reply);
  else answering.reset(reply);
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

function refuse(
  reply: FastifyReply,
  status: number,
  error: string,
  details: Readonly<Record<string, string>> = {},
): FastifyReply {
  return reply.code(status).send(refused(status, error, details).body);
}

/** Field path -> rule. A rule of the whole body is named `body`. */
function detailsOf(problems: readonly Problem[]): Record<string, string> {
  return Object.fromEntries(problems.map(({ path, rule }) => [path === '' ? 'body' : path, rule]));
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

/** Records a request that reached no endpoint: an unknown address, a wrong key, an unreadable body. */
function received(request: FastifyRequest, reply: FastifyReply, at: Date): ReceivedRequest {
  return {
    ...seen(request, at),
    ...{ kind: null, subject: null, status: reply.statusCode, fault: null },
    ...{ applied: false, repeated: false },
  };
}

/** The response to a request, before any fault. */
export type Decision = {
  status: number;
  body: object;
  applied: boolean;
  repeated: boolean;
  headers: Readonly<Record<string, string>>;
};

const WRONG_KEY = 'the API key is missing or wrong';

export function decided(status: number, body: object): Decision {
  return { status, body, applied: false, repeated: false, headers: {} };
}

/** `details`: field -> rule. */
export function refused(
  status: number,
  error: string,
  details: Readonly<Record<string, string>> = {},
): Decision {
  return decided(status, { error, details });
}

/** Returns what a fault decides before anything is applied, or null. */
function decisionBy(fault: Fault | null): Decision | null {
  switch (fault?.name) {
    case 'rate-limit':
      return {
        ...refused(429, 'too many requests'),
        headers: { 'retry-after': String(Math.ceil(fault.value / 1_000)) },
      };
    case 'error':
      return refused(fault.value, 'the service is in trouble');
    case 'wrong-key':
      return refused(401, WRONG_KEY);
    case 'forbidden':
      return refused(403, 'this key may not do that here');
    case 'hang':
    case 'reset':
      return decided(0, {});
    default:
      return null;
  }
}

const SILENT: ReadonlySet<string> = new Set<RequestFault>(['hang', 'reset', 'lost-answer', 'half-answer']);

/** Returns whether a fault suppresses the complete response. */
function isSilent(fault: Fault | null): boolean {
  return fault !== null && SILENT.has(fault.name);
}

/** Ways to respond, or not to. */
type Answering = {
  /** Waits a number of milliseconds, or until the simulator closes. */
  pause(ms: number): Promise<void>;
  /** Never responds. */
  hang(reply: FastifyReply): void;
  /** Resets the connection instead of responding. */
  reset(reply: FastifyReply): void;
  /** Sends the head and a part of the body, then breaks off. */
  half(reply: FastifyReply): void;
  /** Resets hanging requests, as a restarted service does. */
  resetHanging(): void;
  close(): void;
};

/** Shorter than the promised body. */
const HALF = '{"half":';
const PROMISED_BYTES = 50;

export function createAnswering(timer: Timer): Answering {
  const hanging = new Set<FastifyReply>();
  const pauses = new Set<() => void>();
  const reset = (reply: FastifyReply): void => {
    reply.hijack();
    reply.request.raw.socket.resetAndDestroy();
  };
  return {
    pause: (ms) =>
      ms === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            const cancel = timer(ms, () => end());
            const end = (): void => {
              cancel();
              pauses.delete(end);
              resolve();
            };
            pauses.add(end);
          }),
    hang: (reply) => {
      reply.hijack();
      hanging.add(reply);
      reply.raw.once('close', () => hanging.delete(reply));
    },
    reset,
    half: (reply) => {
      reply.hijack();
      const { raw } = reply;
      raw.writeHead(200, { 'content-type': 'application/json', 'content-length': PROMISED_BYTES });
      raw.write(HALF, () => raw.destroy());
    },
    resetHanging: () => {
      for (const reply of hanging) reply.request.raw.socket.resetAndDestroy();
    },
    close: () => {
      for (const end of [...pauses]) end();
    },
  };
}
