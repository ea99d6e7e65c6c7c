/** The whole loop on this machine: the simulator as benefits service, the real executable, a scratch folder. */
import type { Test } from 'tap';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/simulator.ts';
import { type Api, apiAt } from './api.ts';
import { eventually } from './eventually.ts';
import { databaseIn, type Keys, lastingPort, makeKeys, type Variables, variablesFor } from './settings.ts';
import { type Sidecar, type StartOptions, serve } from './sidecar.ts';

export type Stage = {
  readonly keys: Keys;
  readonly folder: string;
  readonly databaseFile: string;
  /** What the executable is started with; a test may change it before it starts it again. */
  readonly variables: Variables;
  readonly simulator: Simulator;
  /** Of the sidecar that was started last. */
  readonly api: Api;
  readonly sidecar: Sidecar;
  /** Starts the executable (again), on the same ports and files. */
  start(options?: StartOptions): Promise<Sidecar>;
  /** Resolves when nothing is under way to the sidecar and it has no pending event. */
  settled(): Promise<void>;
};

export type StageOptions = {
  variables?: Variables;
  simulator?: Partial<SimulatorOptions>;
  keys?: Keys;
  /** False: the test starts it. */
  start?: boolean;
  /** Stands between the sidecar and the service; answers its own address. */
  before?: (serviceUrl: string) => Promise<string>;
};

/** Sets everything and starts it; it ends with the test. */
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
  const variables = {
    ...variablesFor(folder, serviceUrl, keys),
    RECEIVER_PORT: String(await lastingPort()),
    ...options.variables,
  };
  let sidecar: Sidecar | undefined;
  const current = (): Sidecar => {
    if (sidecar === undefined) throw new Error('the sidecar was not started');
    return sidecar;
  };
  const api = apiAt(() => current().api, keys);
  simulator.subscribe(`http://127.0.0.1:${variables.RECEIVER_PORT}/webhooks`);
  const stage: Stage = {
    keys,
    folder,
    databaseFile: databaseIn(folder),
    variables,
    simulator,
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
  };
  if (options.start !== false) await stage.start();
  return stage;
}

/** The newest sync of an employer, once it is in a state. */
export function syncIn(api: Api, employerId: string, state: string) {
  return eventually(
    `the sync of ${employerId} is ${state}`,
    async () => (await api.get(`/v1/census-syncs?employer_id=${employerId}`)).data[0],
    (sync) => sync?.state === state,
  );
}
