/** The demo's simulated benefits service, payroll system and sidecar, and what its steps share. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import fastify from 'fastify';
import { Agent, request } from 'undici';
import { failed } from '../../cli/failure.ts';
import type { Clock } from '../../clock.ts';
import { readConfig } from '../../config.ts';
import type { Census } from '../../contract/census.ts';
import { codeOf } from '../../errors.ts';
import type { ListPage } from '../../formats/cursor.ts';
import { createSidecar } from '../../runtime/sidecar.ts';
import { startSimulator } from '../../simulator/simulator.ts';
import { silentLog } from '../../telemetry/log.ts';

/** `censuses`: payroll's by employer id, which the benefits service must receive. `token`: has the scope `all`. */
export type Stage = Awaited<ReturnType<typeof setStage>>;

/**
 * Starts everything on free ports of 127.0.0.1 with new secrets and a scratch folder. Cleans up if it rejects.
 * `clear` stops everything and removes the folder. Without `ownCensuses`, payroll has the simulator's censuses.
 */
export async function setStage(ownCensuses?: ReadonlyMap<string, Census>) {
  const folder = await makeFolder();
  const endings: (() => Promise<void>)[] = [];
  const clear = async (): Promise<void> => {
    const results: PromiseSettledResult<void>[] = [];
    for (const end of endings) results.push(...(await Promise.allSettled([end()])));
    await rm(folder, { recursive: true, force: true });
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  try {
    const [apiKey, censusToken, token] = [secret('base64url'), secret('base64url'), secret('base64url')];
    const webhookSecret = `whsec_${secret('base64')}`;

    const simulator = await startSimulator({ apiKey, secrets: [webhookSecret] });
    endings.push(simulator.close);
    const censuses = ownCensuses ?? simulator.world;
    const payroll = await startPayroll(censuses, censusToken);
    endings.push(payroll.close);

    const config = readConfig({
      BENEFITS_ENVIRONMENT: 'sandbox',
      BENEFITS_BASE_URL: simulator.url,
      BENEFITS_API_KEY: apiKey,
      WEBHOOK_SECRETS: webhookSecret,
      DATA_KEYS: `demo:${secret('base64')}`,
      DATABASE_URL: `sqlite:${join(folder, 'sidecar.db')}`,
      RECEIVER_HOST: '127.0.0.1',
      RECEIVER_PORT: '0',
      API_PORT: '0',
      API_TOKEN: token,
      CENSUS_SOURCE: `${payroll.url}/employers/{employer_id}/census`,
      CENSUS_SOURCE_TOKEN: censusToken,
    });
    const sidecar = await createSidecar(config, { log: silentLog });
    simulator.subscribe(`${sidecar.receiver}/webhooks`);
    const api = createApi(sidecar.api, token);
    // Clients close before the sidecar, so it need not wait for their connections.
    endings.push(api.close, sidecar.stop);
    return { simulator, payroll, censuses, sidecar, api, token, folder, clear };
  } catch (error) {
    await clear();
    throw error;
  }
}

async function makeFolder(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), 'benefits-sidecar-demo-'));
  } catch (error) {
    const code = codeOf(error) || 'unknown error';
    throw failed(`cannot create a scratch folder in ${tmpdir()} (${code}): set TMPDIR to another folder`);
  }
}

/** 256 bits, as the delivery provider and `token create` use. */
function secret(encoding: 'base64' | 'base64url'): string {
  return randomBytes(32).toString(encoding);
}

/** Serves the censuses for this bearer token. `givenOut` returns how often an employer's was fetched. */
async function startPayroll(censuses: ReadonlyMap<string, Census>, token: string) {
  const givenOut = new Map<string, number>();
  const app = fastify({ forceCloseConnections: true });
  app.get<{ Params: { id: string } }>('/employers/:id/census', async ({ headers, params: { id } }, reply) => {
    if (headers.authorization !== `Bearer ${token}`) return reply.code(401).send();
    const census = censuses.get(id);
    if (census === undefined) return reply.code(404).send();
    givenOut.set(id, (givenOut.get(id) ?? 0) + 1);
    return census;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, givenOut: (id: string) => givenOut.get(id) ?? 0, close: async () => app.close() };
}

/** The API responds in milliseconds; one that hangs must not delay the demo for minutes. */
const RESPONDS_WITHIN_MS = 30_000;

/** Each method returns the body of a 2xx response, and rejects for any other. `list` reads all pages. */
function createApi(url: string, token: string) {
  const dispatcher = new Agent({ headersTimeout: RESPONDS_WITHIN_MS, bodyTimeout: RESPONDS_WITHIN_MS });
  const headers = { authorization: `Bearer ${token}` };
  const call = async <T>(method: 'GET' | 'PUT' | 'POST', path: string, more: object = {}): Promise<T> => {
    const { statusCode, body } = await request(`${url}${path}`, { dispatcher, method, headers, ...more });
    if (statusCode === 200 || statusCode === 201) return (await body.json()) as T;
    throw new Error(`${method} ${path} returned ${statusCode}: ${(await body.text()).slice(0, 500)}`);
  };
  const list = async <T>(path: string, query: Readonly<Record<string, string>> = {}): Promise<T[]> => {
    const page = await call<ListPage<T>>('GET', `${path}?${new URLSearchParams(query)}`);
    if (page.next_cursor === null || !page.has_more) return page.data;
    return [...page.data, ...(await list<T>(path, { ...query, cursor: page.next_cursor }))];
  };
  return {
    get: <T>(path: string): Promise<T> => call('GET', path),
    list,
    /** `etag` is sent as `If-Match`. */
    send<T>(method: 'PUT' | 'POST', path: string, body: object, etag?: string): Promise<T> {
      const ifMatch = etag === undefined ? {} : { 'if-match': `"${etag}"` };
      const sent = { ...headers, 'content-type': 'application/json', ...ifMatch };
      return call(method, path, { body: JSON.stringify(body), headers: sent });
    },
    close: () => dispatcher.destroy(),
  };
}

export type Scene = {
  readonly stage: Stage;
  readonly now: Clock;
  /** Prints what happens, indented by 3 or `indent`. Only with `--verbose`. */
  show(text: string, indent?: number): void;
  /** Prints what a step showed, after its checks passed. */
  confirm(text: string): void;
};

/** A numbered step of the demo. `play` rejects, mostly with StepFailed, when a result is not as expected. */
export type Step = { readonly title: string; play(scene: Scene): Promise<void> };

/** A result of a step is not as expected. */
export class StepFailed extends Error {
  constructor(expected: string, found: string) {
    super(`  expected: ${expected}\n  found:    ${found}`);
  }
}

export function expect(holds: boolean, expected: string, found: string): void {
  if (!holds) throw new StepFailed(expected, found);
}

/** Throws StepFailed unless both are deeply equal. `what` names them. */
export function expectEqual(what: string, found: unknown, expected: unknown): void {
  expect(isDeepStrictEqual(found, expected), `${what}: ${shown(expected)}`, shown(found));
}

/** Each wait takes well under a second on an idle machine. The limit allows for a busy one. */
const WAIT_MS = 60_000;
const LOOK_EVERY_MS = 10;

/** Polls until `holds` and returns what it saw. Throws StepFailed with the last value after `withinMs`. */
export async function waitFor<T>(
  expected: string,
  look: () => Promise<T> | T,
  holds: (seen: T) => boolean,
  withinMs: number = WAIT_MS,
): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (performance.now() > until)
      throw new StepFailed(`${expected} within ${withinMs / 1_000} s`, shown(seen));
    await pause(LOOK_EVERY_MS);
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Returns the path of the first difference of two JSON values, such as `employees[2].address.state`, or null.
 * Names no value, because values may be personal.
 */
export function firstDifference(found: unknown, expected: unknown, path = ''): string | null {
  if (Object.is(found, expected)) return null;
  if (!isParts(found) || !isParts(expected) || Array.isArray(found) !== Array.isArray(expected)) {
    return path === '' ? 'all of it' : path;
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const name = Array.isArray(expected) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    const difference = firstDifference(found[key], expected[key], name);
    if (difference !== null) return difference;
  }
  return null;
}

function isParts(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
