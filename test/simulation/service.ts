/** The benefits service: a dispatcher of the real client. Its state decides each response, and faults change the state. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Dispatcher } from 'undici';
import { between, pick, type Random } from '../../src/simulator/random.ts';
import { createExchange, type Exchange, socketError } from './exchange.ts';
import { API_KEY } from './machine.ts';
import type { Simulation } from './simulation.ts';

/** How the service responds. `lost` applies the request and loses the response; `reset` applies nothing. */
export const TROUBLES = [
  ...(['500', '503', '429', '408', '401', '403', '404', '422', 'html', 'redirect'] as const),
  ...(['hang', 'lost', 'reset'] as const),
];
/** `late` applies the first request with a key and responds to it after a claim ends. Repeats take seconds. */
export type Trouble = (typeof TROUBLES)[number] | 'late';

/** Longer than a claim without a heartbeat lasts, and less than the sender waits. */
const LATE_MS = [35_000, 55_000] as const;
const USUAL_MS = [20, 900] as const;
const REPEATED_MS = [20, 20_000] as const;

/** A request that the service applied. The same key again is not applied again. */
export type Applied = {
  key: string;
  subject: string;
  path: string;
  body: string;
  at: number;
  /** Whether the sidecar was sent a 2xx. */
  isAcknowledged: boolean;
};

export class Service extends Dispatcher {
  /** The trouble of requests with this segment in their path; `*`: of all other requests. */
  readonly troubles = new Map<string, Trouble>();
  readonly applied = new Map<string, Applied>();
  /** The ids of requests that it rejected. An operator may send them again after newer ones. */
  readonly rejected = new Set<string>();
  readonly #bodies = new Map<string, string>();
  readonly #simulation: Simulation;
  readonly #random: Random;
  /** Requests of an earlier generation belong to processes that ended. */
  #generation = 0;

  constructor(simulation: Simulation) {
    super();
    this.#simulation = simulation;
    this.#random = simulation.random('service');
  }

  /** Drops the connections of processes that ended. */
  dropConnections(): void {
    this.#generation += 1;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const exchange = createExchange(handler);
    const generation = this.#generation;
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
    const isWhole = typeof body === 'string' || body instanceof Uint8Array;
    const content = isWhole ? Buffer.from(body).toString() : await text(body as Readable);
    if (!isCurrent()) return;
    const sent = headers as Record<string, string>;
    const key = sent['idempotency-key'] ?? '';
    const isRepeated = this.#bodies.has(key);
    this.#check(path, key, content, sent);
    this.#simulation.received(idOf(key));
    const current = troubleOf(this.troubles, path);
    const isAfterLate = current === 'late' && isRepeated;
    const trouble = isAfterLate ? null : current;
    if (trouble === '422') this.rejected.add(idOf(key));
    const { time, trace, saw } = this.#simulation;
    trace.add(`service ${path} ${key} ${trouble ?? 'ok'}`);
    const [least, most] = isAfterLate ? REPEATED_MS : USUAL_MS;
    time.after(between(this.#random, least, most), 'service', () => {
      if (!isCurrent() || trouble === 'hang') return;
      if (trouble === 'reset') return exchange.fail(socketError());
      const isApplied = trouble === null || trouble === 'lost' || trouble === 'late';
      if (isApplied) this.#apply({ key, path, body: content, at: time.now() });
      if (trouble === 'lost') return exchange.fail(socketError());
      const applied = this.applied.get(key);
      if (trouble === 'late') {
        return time.after(between(this.#random, ...LATE_MS), 'service', () => {
          if (!isCurrent()) return;
          if (applied?.isAcknowledged) saw('late response after another sender finished');
          exchange.respond(...responseTo(pick(this.#random, ['503', '408']), this.#random));
        });
      }
      if (trouble === null && applied !== undefined) applied.isAcknowledged = true;
      exchange.respond(...responseTo(trouble, this.#random));
    });
  }

  #apply(request: Omit<Applied, 'subject' | 'isAcknowledged'>): void {
    if (this.applied.has(request.key)) return;
    const [, employer] = /\/employer\/([^/]+)\/census$/.exec(request.path) ?? [];
    const subject = employer ?? (JSON.parse(request.body) as { employee_id: string }).employee_id;
    const applied = { ...request, subject, isAcknowledged: false };
    this.applied.set(request.key, applied);
    this.#simulation.count('requests applied');
    this.#simulation.applied(applied);
  }

  /** Checks a request: the key, the length, and that an idempotency key always has the same content. */
  #check(path: string, key: string, body: string, headers: Record<string, string>): void {
    const { breach } = this.#simulation;
    if (headers.authorization !== `Bearer ${API_KEY}`) breach(`a request to ${path} has the wrong API key`);
    if (key === '') breach(`a request to ${path} has no idempotency key`);
    if (Number(headers['content-length']) !== Buffer.byteLength(body))
      breach(`a request to ${path} has ${Buffer.byteLength(body)} bytes, not ${headers['content-length']}`);
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
  const segment = path.split('/').find((segment) => troubles.has(segment)) ?? '*';
  return troubles.get(segment) ?? null;
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
