/** The machine that the sidecars of a simulation run on: its disk, its clock, its network, and its crashes. */
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Database, Statement } from 'better-sqlite3';
import type { InjectOptions } from 'fastify';
import { type Config, readConfig } from '../../src/config.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { type Random, seededRandom } from '../../src/simulator/random.ts';
import { fetched } from './features/censuses.ts';
import { notifyOf } from './features/notifications.ts';
import { sendingOf } from './features/pilot.ts';
import { closeHandles, crashFiles, openUnwatched } from './handles.ts';
import { type Instance, startInstance } from './instance.ts';
import { NOTIFY_PATH } from './payroll-receiver.ts';
import type { Simulation } from './simulation.ts';
import { timeoutSignal } from './time.ts';

export const API_KEY = 'simulated-key-of-the-service';
export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 'webhook').toString('base64')}`;
const DATA_KEY = Buffer.alloc(32, 'data');
const TOKEN = 'simulated-token-of-the-payroll-system-1';
/** How long a crash waits for what was running. */
const TURNS = 5;

type Which = 'first' | 'second';
export type Response = { status: number; body: unknown; headers: Record<string, unknown> };
export type Query = <Row = Record<string, string | number | null>>(
  sql: string,
  ...parameters: unknown[]
) => Row[];
/** A request to the API: its method, URL, body and headers. */
export type Call = [method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, body?: unknown, headers?: object];

export type Machine = ReturnType<typeof createMachine>;

export function createMachine(simulation: Simulation) {
  const { seed, folder, time, trace, world, service, breach } = simulation;
  const startedAt = time.now();
  let lastStart = startedAt;
  let isFirstStart = true;
  const instances = new Map<Which, Instance>();
  /** The responses that callers wait for, with the sidecar that gives each, and the time of each request. */
  const responding = new Map<Promise<unknown>, { instance: Instance; since: number }>();
  const choice = seededRandom(seed, 'instance');
  /** Counts the crashes. Work of an earlier generation has no effect. */
  let generation = 0;
  let starting = 0;
  let calls = 0;
  let ended = Promise.withResolvers<null>();
  let crash: { why: string; downMs: number; old: string } | null = null;
  /** Requests to the payroll system, and all others. */
  const network = service.compose(
    (dispatch) => (options, handler) =>
      options.path === NOTIFY_PATH
        ? simulation.receiver.dispatch(options, handler)
        : dispatch(options, handler),
  );
  let reader: Database | null = null;
  const statements = new Map<string, Statement>();

  /** Passes a request to one of the sidecars. Null: no response, because none runs or it ended. */
  const inject = async (
    which: 'receiver' | 'api',
    request: InjectOptions & { headers: object },
  ): Promise<Response | null> => {
    const running = [...instances.values()];
    const instance = running[Math.floor(choice() * running.length)];
    if (instance === undefined) return null;
    const mine = generation;
    calls += 1;
    const responded = Promise.race([instance[which].inject(request), ended.promise]);
    responding.set(responded, { instance, since: time.now() });
    try {
      const response = await responded;
      if (response === null || mine !== generation) return null;
      const isJson = String(response.headers['content-type']).includes('json');
      const body: unknown = isJson ? response.json() : response.body;
      return { status: response.statusCode, body, headers: response.headers };
    } catch {
      return null;
    } finally {
      responding.delete(responded);
      if (mine === generation) calls -= 1;
    }
  };

  const start = (which: Which, offMs: number): void => {
    if (crash !== null || instances.has(which)) return;
    const mine = generation;
    starting += 1;
    const started = startInstance({
      config: configOf(
        machine.databaseUrl,
        seededRandom(seed, 'config'),
        sendingOf(simulation, isFirstStart),
        notifyOf(simulation),
      ),
      clocks: {
        now: () => new Date(time.now() + machine.skewMs + offMs),
        sharedNow: async () => new Date(time.now() + machine.skewMs),
        elapsed: { now: () => time.now() - startedAt, idle: () => time.now() - startedAt },
        uptimeMs: () => time.now() - startedAt,
      },
      // A constraint of the schema is the last guard. Nothing may reach it.
      log: trace.log(which, ({ code = '' }, message) => {
        if (code.startsWith('SQLITE_CONSTRAINT')) breach(`${which}: ${message} (${code})`);
      }),
      random: seededRandom(seed, 'jitter', which, generation),
      transport: { dispatcher: network, timeout: timeoutSignal },
      census: world.hasFunction ? async (employerId) => fetched(simulation, employerId) : null,
      message: (deliver) => {
        if (!simulation.faults.isOn('lost-message')) setTimeout(deliver, 1);
      },
      failed: (error) => {
        if (mine === generation) breach(`the ${which} sidecar failed: ${(error as Error)?.stack ?? error}`);
      },
    });
    started.then(
      (instance) => {
        if (mine !== generation) return;
        starting -= 1;
        instances.set(which, instance);
        lastStart = time.now();
        isFirstStart = false;
        trace.add(`${which} started`);
      },
      (error: unknown) => {
        if (mine !== generation) return;
        starting -= 1;
        trace.add(`${which} could not start: ${error}`);
        startLater(which, offMs, 1_000);
      },
    );
  };

  const startLater = (which: Which, offMs: number, ms: number): void => {
    const mine = generation;
    time.after(ms, 'start', () => {
      if (mine === generation) start(which, offMs);
    });
  };

  const forget = async (old: string): Promise<void> => {
    // Running work meets errors, and no timer calls it again.
    for (let turn = 0; turn < TURNS; turn += 1) {
      await time.settle();
      time.clearTimers();
    }
    reader?.close();
    reader = null;
    statements.clear();
    closeHandles(old);
    rmSync(dirname(old), { recursive: true, force: true });
  };

  const machine = {
    encryptor: createEncryptor([{ id: 'k1', key: DATA_KEY }]),
    path: join(folder, '0', 'sidecar.db'),
    get databaseUrl(): string {
      return `sqlite:${this.path}`;
    },
    /** How far the machine's clock is off, in milliseconds. The time of the database is this clock's. */
    skewMs: 0,
    /** When a sidecar was started last. */
    startedAt: (): number => lastStart,
    isUp: (): boolean => instances.has('first'),
    isIdle: (): boolean => crash === null && starting === 0 && calls === 0,
    hasCrashed: (): boolean => crash !== null,
    /** The time of the oldest request without a response; infinity if there is none. */
    waitsSince: (): number => Math.min(...[...responding.values()].map(({ since }) => since)),
    /** Reads the database as it is, without the code of the sidecar. */
    query: ((sql, ...parameters) => {
      reader ??= openUnwatched(machine.path, { readonly: true });
      const statement = statements.get(sql) ?? reader.prepare(sql);
      statements.set(sql, statement);
      return statement.all(...parameters);
    }) as Query,
    start,
    /** Stops a sidecar in order, and starts the first one again. */
    async stop(which: Which): Promise<void> {
      const mine = generation;
      const instance = instances.get(which);
      instances.delete(which);
      // A listener closes after its last response; a request without a socket does not keep it open.
      await Promise.allSettled(
        [...responding].filter(([, of]) => of.instance === instance).map(([response]) => response),
      );
      if (mine !== generation) return;
      await instance?.stop();
      trace.add(`${which} stopped`);
      // After a crash in the meantime, the machine starts it.
      if (which === 'first' && mine === generation) start('first', 0);
    },
    /** Delivers a webhook. Returns the status, or null without a response. */
    async deliver(headers: Record<string, string>, payload: string): Promise<number | null> {
      const response = await inject('receiver', {
        ...{ method: 'POST', url: '/webhooks', payload },
        headers: { 'content-type': 'application/json', ...headers },
      });
      simulation.count('deliveries');
      simulation.faults.afterResponse();
      if (response !== null && response.status >= 500 && response.status !== 503)
        breach(`a delivery was answered with ${response.status}`);
      return response?.status ?? null;
    },
    /** Calls the API, as the payroll system unless the headers have another token. */
    async call(...[method, url, body, headers = {}]: Call): Promise<Response | null> {
      const response = await inject('api', {
        ...{ method, url, headers: { authorization: `Bearer ${TOKEN}`, ...headers } },
        ...(body !== undefined && { payload: body as object }),
      });
      trace.add(`${method} ${url} ${response?.status ?? 'none'}`);
      if (response !== null && response.status >= 500 && response.status !== 503)
        breach(`${method} ${url} responded ${response.status}: ${JSON.stringify(response.body)}`);
      return response;
    },
    /** Ends all sidecars now. Called in the middle of a statement, which then throws. */
    crash(why: string, downMs: number): void {
      if (crash !== null) return;
      crash = { why, downMs, old: machine.path };
      generation += 1;
      // Nothing reaches a sidecar from here on, so that only calls and starts of the next generation are counted.
      instances.clear();
      starting = 0;
      calls = 0;
      machine.path = crashFiles(machine.path, join(folder, String(generation)));
      ended.resolve(null);
    },
    /** Starts again on what the crash left on the disk. */
    async recover(): Promise<void> {
      if (crash === null) return;
      const { why, downMs, old } = crash;
      trace.add(`crash ${why}`);
      service.dropConnections();
      simulation.receiver.dropConnections();
      await forget(old);
      ended = Promise.withResolvers<null>();
      crash = null;
      startLater('first', 0, downMs);
    },
    /** Ends everything without a stop. */
    async end(): Promise<void> {
      generation += 1;
      crashFiles(machine.path, join(folder, 'end'));
      await forget(machine.path);
    },
  };
  mkdirSync(dirname(machine.path), { recursive: true });
  return machine;
}

function configOf(
  databaseUrl: string,
  draw: Random,
  sending: ReturnType<typeof sendingOf>,
  notify: Record<string, string>,
): Config {
  const isKept = draw() < 0.5;
  return readConfig({
    BENEFITS_ENVIRONMENT: 'sandbox',
    BENEFITS_BASE_URL: 'http://127.0.0.1:9/api',
    ...(sending.hasKey && { BENEFITS_API_KEY: API_KEY }),
    ...(sending.isOff && { SENDING: 'off' }),
    WEBHOOK_SECRETS: WEBHOOK_SECRET,
    DATA_KEYS: `k1:${DATA_KEY.toString('base64')}`,
    DATABASE_URL: databaseUrl,
    API_TOKEN: TOKEN,
    ...notify,
    ...(isKept ? {} : { RETENTION_EVENTS: '5d', RETENTION_REQUESTS: '5d' }),
  });
}
