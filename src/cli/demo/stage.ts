/** The parts of the demo: a simulated benefits service, a payroll system and the sidecar between them. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { readConfig } from '../../config.ts';
import type { Census } from '../../contract/census.ts';
import { codeOf } from '../../errors.ts';
import type { Page } from '../../formats/cursor.ts';
import { createSidecar, type Sidecar } from '../../runtime/sidecar.ts';
import { type Simulator, startSimulator } from '../../simulator/simulator.ts';
import { silentLog } from '../../telemetry/log.ts';
import { failed } from '../failure.ts';

export type Stage = {
  readonly simulator: Simulator;
  readonly payroll: Payroll;
  /** Payroll's censuses by employer id: what the benefits service must receive. */
  readonly censuses: ReadonlyMap<string, Census>;
  readonly sidecar: Sidecar;
  readonly api: Api;
  /** For the API, with the scope `all`. */
  readonly token: string;
  /** Holds the database and is removed at the end. */
  readonly folder: string;
  /** Stops all three and removes the folder. */
  clear(): Promise<void>;
};

export type StageOptions = {
  /** The censuses of payroll, if not those of the simulator. */
  censuses?: ReadonlyMap<string, Census>;
};

/** 256 bits, as the delivery provider and `token create` use. */
const SECRET_BYTES = 32;

/** Starts everything on free ports of 127.0.0.1 with new secrets. Cleans up if it rejects. */
export async function setStage(options: StageOptions = {}): Promise<Stage> {
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
    const { censuses = simulator.world } = options;
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
      CENSUS_SOURCE: payroll.censusAddress,
      CENSUS_SOURCE_TOKEN: censusToken,
      LOG_LEVEL: 'silent',
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

function secret(encoding: 'base64' | 'base64url'): string {
  return randomBytes(SECRET_BYTES).toString(encoding);
}

type Payroll = {
  /** The sidecar's `CENSUS_SOURCE`. */
  readonly censusAddress: string;
  readonly url: string;
  /** How often an employer's census was fetched. */
  givenOut(employerId: string): number;
  close(): Promise<void>;
};

/** Serves `GET /employers/{employer_id}/census` for this bearer token on a free port of 127.0.0.1. */
export async function startPayroll(censuses: ReadonlyMap<string, Census>, token: string): Promise<Payroll> {
  const givenOut = new Map<string, number>();
  const server = createServer((request, response) => {
    const [, encoded] = /^\/employers\/([^/?]+)\/census$/.exec(request.url ?? '') ?? [];
    const employerId = encoded === undefined ? '' : decodeURIComponent(encoded);
    const census = censuses.get(employerId);
    if (request.headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end();
    if (request.method !== 'GET' || census === undefined) return void response.writeHead(404).end();
    givenOut.set(employerId, (givenOut.get(employerId) ?? 0) + 1);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(census));
  });
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    censusAddress: `${url}/employers/{employer_id}/census`,
    givenOut: (employerId) => givenOut.get(employerId) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Api = {
  /** Returns the body of a 2xx response. Rejects for any other response and after a timeout. */
  get<T>(path: string): Promise<T>;
  /** Returns a list from its first page to its last. */
  list<T>(path: string): Promise<T[]>;
  /** Sends JSON and returns the body of a 2xx response. `ifMatch` is an ETag. */
  send<T>(method: 'PUT' | 'POST', path: string, body: object, ifMatch?: string): Promise<T>;
  close(): Promise<void>;
};

/** The API responds in milliseconds; one that hangs must not delay the demo for minutes. */
const ANSWERS_WITHIN_MS = 30_000;

function createApi(url: string, token: string): Api {
  const dispatcher = new Agent({ headersTimeout: ANSWERS_WITHIN_MS, bodyTimeout: ANSWERS_WITHIN_MS });
  const headers = { authorization: `Bearer ${token}` };
  const send = async <T>(method: 'GET' | 'PUT' | 'POST', path: string, more: object = {}): Promise<T> => {
    const { statusCode, body } = await request(`${url}${path}`, { dispatcher, method, headers, ...more });
    if (statusCode === 200 || statusCode === 201) return (await body.json()) as T;
    throw new Error(`${method} ${path} returned ${statusCode}: ${(await body.text()).slice(0, 500)}`);
  };
  const get = <T>(path: string): Promise<T> => send('GET', path);
  return {
    get,
    list: async <T>(path: string) => {
      const rows: T[] = [];
      let cursor = '';
      for (;;) {
        const page: Page<T> = await get(`${path}${cursor}`);
        rows.push(...page.data);
        if (!page.has_more) return rows;
        cursor = `${path.includes('?') ? '&' : '?'}cursor=${page.next_cursor}`;
      }
    },
    send: (method, path, body, ifMatch) =>
      send(method, path, {
        body: JSON.stringify(body),
        headers: {
          ...headers,
          'content-type': 'application/json',
          ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
        },
      }),
    close: () => dispatcher.destroy(),
  };
}
