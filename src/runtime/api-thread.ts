/** The entry of the API thread. */
import { readdirSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { workerData } from 'node:worker_threads';
import { pressureLimits } from '../api/pressure.ts';
import { type CensusFetcher, createFunctionSource } from '../census/source.ts';
import { createDirSource } from '../census/source-dir.ts';
import { createHttpSource } from '../census/source-http.ts';
import type { Config } from '../config.ts';
import { createAgent, createTransport } from '../outgoing.ts';
import { addressOf, closeListener } from '../security/listener.ts';
import type { OpenIdProvider } from '../security/openid.ts';
import type { Receiving } from '../telemetry/counts.ts';
import type { Log } from '../telemetry/log.ts';
import { VERSION } from '../version.ts';
import { systemClocks } from './clocks.ts';
import { createServing } from './serving.ts';
import {
  type ApiThreadData,
  type FromApi,
  type MainThread,
  request,
  runWorker,
  type Started,
  type ToApi,
} from './threads.ts';

const { config, applies, hasCensusFunction, latestStored, lockTurns } = workerData as ApiThreadData;

// When there are fewer cores than threads, acknowledgements come first. Only Linux sets the priority of a single thread;
// elsewhere it would apply to the whole process.
if (process.platform === 'linux') lowerPriority();

runWorker<ToApi, FromApi>(startApi);

/** Lowers the priority of this thread and of V8's helper threads, which mostly collect its garbage. */
function lowerPriority(): void {
  const { PRIORITY_BELOW_NORMAL } = constants.priority;
  setPriority(PRIORITY_BELOW_NORMAL);
  const folder = '/proc/self/task';
  try {
    for (const thread of readdirSync(folder)) {
      const name = readFileSync(`${folder}/${thread}/comm`, 'utf8').trimEnd();
      if (name === 'V8Worker') setPriority(Number(thread), PRIORITY_BELOW_NORMAL);
    }
  } catch {
    // Without /proc, or if a thread ends while the names are read, helper threads keep their priority.
  }
}

/** Starts on a database that is migrated already. Rejects if the port of the private listener is taken. */
async function startApi(main: MainThread<FromApi>): Promise<Started<ToApi>> {
  const source = hasCensusFunction
    ? createFunctionSource((employerId, port) => main.send({ type: 'census', employerId, port }, [port]))
    : censusSource(config);
  const serving = createServing(config, {
    log: logOf(main),
    clocks: systemClocks,
    random: Math.random,
    transport: createTransport(config.proxy),
    openId: await openIdProvider(config),
    ...{ source, hasCensusFunction, applies, latestStored, lockTurns },
    pressure: pressureLimits(),
    receiving: () => request<Receiving>((port) => main.send({ type: 'counts', port }, [port])),
    wakeApply: () => main.send({ type: 'wake-apply' }),
    failed: main.failed,
  });
  const { api } = serving;
  await api.listen({ host: config.api.host, port: config.api.port });
  serving.run();
  // A page of a run outlives a collection, from which V8 would learn to make all its rows old: they kept one another until a full
  // collection. Set after the start, because other flags than those of the compile cache make a start slower.
  setFlagsFromString('--no-allocation-site-pretenuring');
  return {
    address: addressOf(api),
    receive(message) {
      if (message.type === 'wake-send') serving.wakeSend();
      else serving.wakeApply(message.events);
    },
    stop: () => serving.stop(() => closeListener(api)),
  };
}

/** The main thread writes the log of all threads. */
function logOf(main: MainThread<FromApi>): Log {
  const at =
    (level: keyof Log): Log[typeof level] =>
    (fields, message) =>
      main.send({ type: 'log', level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}

/** The client takes 8 MB, so it is loaded only if it is used. */
async function openIdProvider({ signIn: { provider }, proxy }: Config): Promise<OpenIdProvider | null> {
  if (provider === null) return null;
  const { createOpenIdProvider } = await import('../security/openid.ts');
  return createOpenIdProvider(provider, systemClocks.elapsed, { agent: createAgent(proxy) });
}

/** Returns null for `push`: payroll uploads its censuses. */
function censusSource({ census: { source, token }, proxy }: Config): CensusFetcher | null {
  if (source.kind === 'dir') return createDirSource(source.path);
  if (source.kind === 'http') return createHttpSource(source.url, token, VERSION, proxy);
  return null;
}
