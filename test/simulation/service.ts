/** The benefits service: a dispatcher of the real client. Its state decides each response, and faults change the state. */
import { createHash } from 'node:crypto';
import { Dispatcher } from 'undici';
import { between, pick, type Random } from '../../src/simulator/random.ts';
import type { Time } from './time.ts';
import type { Trace } from './trace.ts';

/** How the service responds. `lost` applies the request and loses the response; `reset` applies nothing. */
export const TROUBLES = [
  ...(['500', '503', '429', '408', '401', '403', '404', '422', 'html', 'redirect'] as const),
  ...(['hang', 'lost', 'reset'] as const),
];
export type Trouble = (typeof TROUBLES)[number];

/** A request that the service applied. The same key again is not applied again. */
export type Applied = { key: string; subject: string; path: string; body: string; at: number };

export type ServiceOptions = {
  time: Time;
  random: Random;
  apiKey: string;
  /** Called once for each applied request. */
  onApplied: (applied: Applied) => void;
  /** Called with a sentence when a request breaks the contract of sending. */
  breach: (what: string) => void;
  trace: Trace;
};

type Handler = Dispatcher.DispatchHandler;

export class Service extends Dispatcher {
  /** What the requests with this segment in their path suffer now; `*`: all others. */
  readonly troubles = new Map<string, Trouble>();
  readonly applied = new Map<string, Applied>();
  /** The ids of requests that it rejected. An operator may send them again after newer ones. */
  readonly rejected = new Set<string>();
  /** Requests received and not responded to. */
  inFlight = 0;
  readonly #bodies = new Map<string, string>();
  readonly #options: ServiceOptions;
  /** Requests of an earlier generation belong to processes that ended. */
  #generation = 0;

  constructor(options: ServiceOptions) {
    super();
    this.#options = options;
  }

  /** Drops the connections of processes that ended. */
  dropConnections(): void {
    this.#generation += 1;
    this.inFlight = 0;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const exchange = createExchange(handler, () => {
      if (generation === this.#generation) this.inFlight -= 1;
    });
    const generation = this.#generation;
    this.inFlight += 1;
    const isCurrent = () => generation === this.#generation && !exchange.controller.aborted;
    handler.onRequestStart?.(exchange.controller, {});
    this.#receive(options, exchange, isCurrent).catch((error) => exchange.fail(error as Error));
    return true;
  }

  async #receive(
    { path, body, headers }: Dispatcher.DispatchOptions,
    exchange: Exchange,
    isCurrent: () => boolean,
  ) {
    const { time, random } = this.#options;
    const text = await textOf(body);
    if (!isCurrent()) return;
    const sent = headers as Record<string, string>;
    const key = sent['idempotency-key'] ?? '';
    this.#check(path, key, text, sent);
    const trouble = troubleOf(this.troubles, path);
    if (trouble === '422') this.rejected.add(idOf(key));
    this.#options.trace.add(`service ${path} ${key} ${trouble ?? 'ok'}`);
    time.after(between(random, 20, 900), 'service', () => {
      if (!isCurrent() || trouble === 'hang') return;
      if (trouble === 'reset') return exchange.fail(socketError());
      if (trouble === null || trouble === 'lost') this.#apply({ key, path, body: text, at: time.now() });
      if (trouble === 'lost') return exchange.fail(socketError());
      exchange.respond(...responseTo(trouble, random));
    });
  }

  #apply(request: Omit<Applied, 'subject'>): void {
    if (this.applied.has(request.key)) return;
    const [, employer] = /\/employer\/([^/]+)\/census$/.exec(request.path) ?? [];
    const subject = employer ?? (JSON.parse(request.body) as { employee_id: string }).employee_id;
    const applied = { ...request, subject };
    this.applied.set(request.key, applied);
    this.#options.onApplied(applied);
  }

  /** Checks a request: the key, the length, and that an idempotency key always has the same content. */
  #check(path: string, key: string, body: string, headers: Record<string, string>): void {
    const { breach, apiKey } = this.#options;
    if (headers.authorization !== `Bearer ${apiKey}`) breach(`a request to ${path} has the wrong API key`);
    if (key === '') breach(`a request to ${path} has no idempotency key`);
    if (Number(headers['content-length']) !== Buffer.byteLength(body)) {
      breach(`a request to ${path} has ${Buffer.byteLength(body)} bytes, not ${headers['content-length']}`);
    }
    const content = createHash('sha256').update(`${path}\n${body}`).digest('hex');
    const known = this.#bodies.get(key);
    if (known !== undefined && known !== content) breach(`the idempotency key ${key} has two contents`);
    this.#bodies.set(key, content);
  }

  override async close(): Promise<void> {}
  override async destroy(): Promise<void> {}
}

/** Returns the request of an idempotency key. A census upload has a key for each content. */
export function idOf(key: string): string {
  return key.split(':')[0] as string;
}

/** Returns the trouble of an employer, of a kind of request, or of all. */
function troubleOf(troubles: ReadonlyMap<string, Trouble>, path: string): Trouble | null {
  const found = path.split('/').map((segment) => troubles.get(segment));
  return found.find((trouble) => trouble !== undefined) ?? troubles.get('*') ?? null;
}

type Exchange = ReturnType<typeof createExchange>;

function createExchange(handler: Handler, ended: () => void) {
  let isOver = false;
  const end = (work: () => void): void => {
    if (isOver) return;
    isOver = true;
    ended();
    work();
  };
  const controller = {
    paused: false,
    aborted: false,
    reason: null as Error | null,
    rawHeaders: [],
    pause(): void {},
    resume(): void {},
    abort(reason: Error): void {
      controller.aborted = true;
      controller.reason = reason;
      end(() => handler.onResponseError?.(controller as never, reason));
    },
  };
  return {
    controller: controller as unknown as Dispatcher.DispatchController & { aborted: boolean },
    fail: (error: Error): void => end(() => handler.onResponseError?.(controller as never, error)),
    respond: (status: number, headers: Record<string, string>, body: string): void =>
      end(() => {
        handler.onResponseStart?.(controller as never, status, headers, '');
        if (body !== '') handler.onResponseData?.(controller as never, Buffer.from(body));
        handler.onResponseEnd?.(controller as never, {});
      }),
  };
}

function responseTo(trouble: Trouble | null, random: Random): [number, Record<string, string>, string] {
  const json = { 'content-type': 'application/json' };
  if (trouble === null) return [pick(random, [200, 202]), json, '{"ok":true}'];
  if (trouble === 'html') return [200, { 'content-type': 'text/html' }, '<html>maintenance</html>'];
  if (trouble === 'redirect') return [302, { location: '/login' }, ''];
  const status = Number(trouble);
  const retry: Record<string, string> =
    status === 429 ? { 'retry-after': String(between(random, 1, 600)) } : {};
  return [status, { ...json, ...retry }, status === 404 ? '' : `{"error":"${trouble}"}`];
}

function socketError(): Error {
  return Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
}

async function textOf(body: Dispatcher.DispatchOptions['body']): Promise<string> {
  if (body === null || body === undefined) return '';
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const parts: Buffer[] = [];
  for await (const part of body as AsyncIterable<Buffer>) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString();
}
