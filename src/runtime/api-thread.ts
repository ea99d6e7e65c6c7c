/** The entry of the API thread: API and console, send loop, retention, and on PostgreSQL the apply loop. */
import { constants, setPriority, uptime } from 'node:os';
import { workerData } from 'node:worker_threads';
import { pressureLimits } from '../api/pressure.ts';
import { createApi } from '../api/server.ts';
import { createCensusSender } from '../census/census-sender.ts';
import { resumeRosterUpdates } from '../census/roster-update.ts';
import { type CensusSource, createFunctionSource } from '../census/source.ts';
import { createDirSource, mayFetch } from '../census/source-dir.ts';
import { createHttpSource } from '../census/source-http.ts';
import { systemClock, systemElapsed } from '../clock.ts';
import type { CensusConfig } from '../config.ts';
import { addConsole } from '../console/console.ts';
import { startCheckpoints } from '../database/checkpoints.ts';
import { engineOf, engineOfUrl, sharedClock } from '../database/engine.ts';
import { type Call, callOthers, hearCalls } from '../database/notifier.ts';
import { openDatabase } from '../database/open.ts';
import type { Db } from '../database/tables.ts';
import { createChangeSenders } from '../employment/bodies.ts';
import { codeOf } from '../errors.ts';
import { createApplyLoop } from '../inbox/apply.ts';
import { readMark } from '../operations/activity.ts';
import { createClockCheck } from '../operations/clock-check.ts';
import { createReadiness } from '../operations/health.ts';
import { runRetention } from '../operations/retention.ts';
import { createClient } from '../outbox/client.ts';
import { createSendLoop } from '../outbox/send-loop.ts';
import { createEncryptor, type Encryptor } from '../security/encryption.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import { addressOf, closeListener } from '../security/listener.ts';
import { createPrivateCounts, type Receiving, watchThread } from '../telemetry/counts.ts';
import type { Log } from '../telemetry/log.ts';
import { VERSION } from '../version.ts';
import {
  type ApiThreadData,
  type FromApi,
  type MainThread,
  request,
  runWorker,
  type Started,
  type ToApi,
} from './threads.ts';

const { config, applies, hasCensusFunction, latestStored } = workerData as ApiThreadData;

// On SQLite queries run on this thread. When there are fewer cores than threads, acknowledgements come first. Only Linux
// sets the priority of a single thread; elsewhere it would apply to the whole process.
if (process.platform === 'linux' && engineOfUrl(config.databaseUrl) === 'sqlite') {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

runWorker<ToApi, FromApi>(startApi);

/** Starts on a database that is migrated already. Rejects if the port of the private listener is taken. */
async function startApi(main: MainThread<FromApi>): Promise<Started<ToApi>> {
  const now = systemClock;
  const sharedNow = sharedClock(now);
  const log = logOf(main);
  const watch = watchThread();
  const counts = createPrivateCounts();
  const stopping = new AbortController();
  const db = openDatabase(config.databaseUrl, main.failed);
  const encryptor = createEncryptor(config.dataKeys);
  // Unlike performance.now(), it continues while the machine sleeps.
  const elapsedMs = () => uptime() * 1_000;
  const clock = createClockCheck({ db, now, sharedNow, elapsedMs, latestStored, log });

  // Send.
  const client = createClient(config.benefits, VERSION, now);
  const source = hasCensusFunction
    ? createFunctionSource((employerId, port) => main.send({ type: 'census', employerId, port }, [port]))
    : censusSource(config.census);
  const { maxAgeMs } = config.census;
  const sendLoop = createSendLoop({
    db,
    client,
    encryptor,
    senders: {
      census: createCensusSender({ db, encryptor, sharedNow, source, maxAgeMs }),
      ...createChangeSenders(encryptor),
    },
    sharedNow,
    elapsedMs: () => performance.now(),
    random: Math.random,
    log,
    onEnded: (outcome) => {
      counts.attempts[outcome] += 1;
    },
  });
  const wakeSend = (): void => {
    sendLoop.wake();
    void callOthers(db, 'send');
  };

  // Apply, on PostgreSQL. On SQLite the main thread does.
  const applyLoop = applies
    ? createApplyLoop({
        db,
        sharedNow,
        log,
        onApplied: (applied) => {
          watch.applied(applied);
          if (applied.syncsRequested > 0) wakeSend();
        },
        onFatal: main.failed,
      })
    : null;
  const wakeApply = (): void => (applyLoop === null ? main.send({ type: 'wake-apply' }) : applyLoop.wake());

  // Serve.
  const { token: firstToken, proxies } = config.api;
  const clocks = { now, sharedNow, elapsed: systemElapsed };
  const shared = { db, ...clocks, log, firstToken, proxies, onFatal: main.failed };
  const api = createApi({
    ...shared,
    clockWarning: clock.warning,
    overdueMs: config.census.overdueMs,
    silentAfterMs: config.silentAfterMs,
    censusFrom: hasCensusFunction ? 'function' : config.census.source.kind,
    mayFetch: async (employerId) => hasCensusFunction || mayFetch(config.census.source, employerId),
    version: VERSION,
    whyNotReady: createReadiness(db, now),
    encryptor,
    receiving: () => request<Receiving>((port) => main.send({ type: 'counts', port }, [port])),
    thread: watch.read,
    counts,
    pressure: pressureLimits(),
    wakeApply: () => {
      wakeApply();
      void callOthers(db, 'apply');
    },
    wakeSend,
  });
  addConsole(api, { ...shared, environment: config.environment, readMark: () => readMark(db) });
  await api.listen({ host: config.api.host, port: config.api.port });

  // Nothing is sent or applied before the listener has its port.
  const { databaseUrl, retention } = config;
  const { signal } = stopping;
  const wake: Record<Call, () => void> = { apply: wakeApply, send: sendLoop.wake };
  const loops = [
    sendLoop.run(signal).catch(main.failed),
    applyLoop?.run(signal).catch(main.failed),
    hearCalls(databaseUrl, (call) => wake[call](), signal),
    learn(db, encryptor, log),
    clock.run(signal),
    runRetention(
      { db, databaseUrl, retention, sharedNow, clockWarning: clock.warning, log, failed: main.failed },
      signal,
    ),
  ];
  const stopCheckpoints = engineOf(db) === 'sqlite' ? startCheckpoints(databaseUrl, main.failed) : () => {};

  return {
    address: addressOf(api),
    receive(message) {
      if (message.type === 'wake-send') wakeSend();
      else applyLoop?.wake(message.events);
    },
    async stop() {
      stopping.abort();
      await Promise.all([closeListener(api), ...loops]);
      stopCheckpoints();
      watch.stop();
      await client.close();
      await db.destroy();
    },
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

/** Updates the roster from censuses that an earlier process did not finish. Never rejects. */
async function learn(db: Db, encryptor: Encryptor, log: Log): Promise<void> {
  try {
    await resumeRosterUpdates({ db, encryptor, sharedNow: sharedClock(systemClock) });
  } catch (error) {
    const fields = { code: codeOf(error), reason: keyErrorMessage(error) ?? codeOf(error) };
    log.error(
      fields,
      'the roster could not be updated from a census: it will be tried again at the next start',
    );
  }
}

/** Returns null for `push`: payroll uploads its censuses. */
function censusSource({ source, token }: CensusConfig): CensusSource | null {
  if (source.kind === 'dir') return createDirSource(source.path);
  if (source.kind === 'http') return createHttpSource(source.url, token, VERSION);
  return null;
}
