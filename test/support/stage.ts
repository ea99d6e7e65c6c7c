/**
 * The whole loop on this machine: the simulator as benefits service, one or more sidecars, and a database on the engine
 * of this run.
 */
import type { Test } from 'tap';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/simulator.ts';
import { type Api, apiAt } from './api.ts';
import { newDatabaseUrl } from './engine.ts';
import { eventually } from './eventually.ts';
import { deliver, type Event, type Load, type LoadOptions, startLoad } from './load.ts';
import { type Keys, lastingPort, makeKeys, type Variables, variablesFor } from './settings.ts';
import { type Sidecar, type StartOptions, serve } from './sidecar.ts';

/** One sidecar, across its restarts. */
export type Instance = {
  /** The settings of the executable. A test may change them before a restart. */
  readonly variables: Variables;
  /** The latest process. */
  readonly api: Api;
  readonly sidecar: Sidecar;
  /** Starts the executable (again) on the same ports and database. */
  start(options?: StartOptions): Promise<Sidecar>;
  /** Resolves when the simulator has no work in flight and the database has no pending event. */
  settled(): Promise<void>;
  /** Starts delivering events to it. */
  load(series: string, options?: Pick<LoadOptions, 'connections' | 'events'>): Load;
  /** Delivers one event. Rejects without a response. */
  send(event: Event): ReturnType<typeof deliver>;
};

export type Stage = Instance & {
  readonly keys: Keys;
  readonly folder: string;
  readonly databaseUrl: string;
  readonly simulator: Simulator;
  /** Another sidecar on the same database with its own listeners. The test starts it. */
  another(variables?: Variables): Promise<Instance>;
};

export type StageOptions = {
  variables?: Variables;
  simulator?: Partial<SimulatorOptions>;
  keys?: Keys;
  /** False: the test starts it. */
  start?: boolean;
  /** False: the simulator delivers nothing to it. */
  isSubscribed?: boolean;
  /** Starts a proxy between the sidecar and the service, and returns its address. */
  before?: (serviceUrl: string) => Promise<string>;
};

/** Creates everything and starts it. It ends with the test. */
export async function setStage(t: Test, options: StageOptions = {}): Promise<Stage> {
  const keys = options.keys ?? makeKeys();
  const folder = t.testdir();
  const simulator = await startSimulator({
    apiKey: keys.apiKey,
    secrets: [keys.webhookSecret],
    ...options.simulator,
  });
  t.teardown(simulator.close);
  const serviceUrl = (await options.before?.(simulator.url)) ?? simulator.url;
  const shared = variablesFor(await newDatabaseUrl(t), serviceUrl, keys);
  const another = async (variables: Variables = {}): Promise<Instance> =>
    instanceOf(t, simulator, keys, {
      ...shared,
      RECEIVER_PORT: String(await lastingPort()),
      ...options.variables,
      ...variables,
    });
  const first = await another();
  const receiver = `http://127.0.0.1:${first.variables.RECEIVER_PORT}/webhooks`;
  if (options.isSubscribed !== false) simulator.subscribe(receiver);
  if (options.start !== false) await first.start();
  return {
    keys,
    folder,
    databaseUrl: first.variables.DATABASE_URL as string,
    simulator,
    another,
    variables: first.variables,
    api: first.api,
    start: first.start,
    settled: first.settled,
    load: first.load,
    send: first.send,
    get sidecar() {
      return first.sidecar;
    },
  };
}

function instanceOf(t: Test, simulator: Simulator, keys: Keys, variables: Variables): Instance {
  let sidecar: Sidecar | undefined;
  const current = (): Sidecar => {
    if (sidecar === undefined) throw new Error('the sidecar was not started');
    return sidecar;
  };
  const api = apiAt(() => current().api, keys);
  return {
    variables,
    api,
    get sidecar() {
      return current();
    },
    async start(how) {
      sidecar = await serve(t, variables, how);
      return sidecar;
    },
    async settled() {
      await simulator.settled();
      await eventually(
        'no event is pending',
        () => api.get('/v1/events?state=pending&limit=1'),
        ({ data }) => data.length === 0,
      );
    },
    load: (series, options) =>
      startLoad({ port: current().port, secret: keys.webhookSecret, series, ...options }),
    send: (event) => deliver(current().port, keys.webhookSecret, event),
  };
}

/** Returns the newest sync of an employer once it is in a state. */
export function syncIn(api: Api, employerId: string, state: string) {
  return eventually(
    `the sync of ${employerId} is ${state}`,
    async () => (await api.get(`/v1/census-syncs?employer_id=${employerId}`)).data[0],
    { state },
  );
}
