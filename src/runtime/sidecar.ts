/** The composition root: wires a sidecar by hand, in pipeline order. */
import type { CensusFunction } from '../census/source.ts';
import { type Config, plainHttpVariables } from '../config.ts';
import { engineOfUrl } from '../database/engine.ts';
import { holdServeLock } from '../database/open.ts';
import { configError } from '../environment.ts';
import type { Downstream } from '../inbox/receiver.ts';
import { assertTypes } from '../notifications/types.ts';
import { assertAppendable } from '../operations/audit-heads.ts';
import { assertRoles } from '../security/claims.ts';
import type { Log } from '../telemetry/log.ts';
import { systemClocks } from './clocks.ts';
import { OPEN_FILES_LEAST, openFilesLimit, readLimits } from './open-files.ts';
import { startStoring } from './storing.ts';
import { startApiThread, startReceiverThread } from './threads.ts';

export type SidecarOptions = {
  log: Log;
  /** false: refuses a database that lacks migrations instead of migrating it. */
  migrate?: boolean;
  /** The source of censuses, instead of `CENSUS_SOURCE`, which must then be `push`, its default. */
  census?: CensusFunction;
};

export type Sidecar = {
  /** The addresses of the receiver and the private listener: `http://127.0.0.1:8080`. */
  readonly receiver: string;
  readonly api: string;
  /** Resolves when the sidecar can't continue: the storage failed, or a thread ended. Then call `stop`. */
  readonly failed: Promise<Error>;
  /** Refuses new connections, finishes requests and batches in flight, closes the database. */
  stop(): Promise<void>;
};

const PILOT =
  'sending is off: this database has a pilot, and nothing is sent to the benefits service until "benefits-sidecar sending on"';

/**
 * Starts a sidecar. A slow query on the API thread never delays an acknowledgement. SQLite runs on the thread that calls it:
 * the main thread stores and applies while a receiver thread reads the next deliveries. PostgreSQL runs elsewhere, so the
 * main thread has time to receive and the API thread to apply. Rejects with nothing left running.
 */
export async function createSidecar(config: Config, options: SidecarOptions): Promise<Sidecar> {
  const { log, census = null } = options;
  const isSqlite = engineOfUrl(config.databaseUrl) === 'sqlite';
  if (census !== null && config.census.source.kind !== 'push') {
    throw configError('CENSUS_SOURCE', 'must be push when a function provides the census');
  }
  if (config.signIn.provider !== null) assertRoles(config.signIn.provider);
  if (config.notify !== null) assertTypes(config.notify);
  await assertAppendable(config.auditHeads);
  for (const reason of plainHttpVariables(config)) {
    log.warn(
      { reason },
      'an address uses plain HTTP: keys and personal data cross the network unencrypted, so use HTTPS',
    );
  }

  const openFiles = openFilesLimit(readLimits());
  if (openFiles !== null && openFiles < OPEN_FILES_LEAST) {
    const needed = `the process may open too few files: raise the limit to ${OPEN_FILES_LEAST} or more, such as with "ulimit -n"`;
    log.warn({ count: openFiles }, needed);
  }

  // Started parts are stopped in reverse order.
  const cleanup: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (let step = cleanup.pop(); step !== undefined; step = cleanup.pop()) await step();
  };
  try {
    cleanup.push(holdServeLock(config.databaseUrl));
    const parts = { log, clocks: systemClocks, migrate: options.migrate ?? true, cleanup };
    const { failure, signals, isSendingOff, latestStored, lockTurns, counts, thread, ...storing } =
      await startStoring(config, parts);
    const { fail } = failure;
    /** Whether the private listener accepts connections. An orchestrator may probe the public one only. */
    let isServing = false;
    const downstream: Downstream = {
      ...storing.downstream,
      isReady: async () => isServing && (await storing.downstream.isReady()),
    };

    // Receive.
    // On PostgreSQL the HTTP server is loaded here. It takes 7 MB, which on SQLite the receiver thread already uses.
    const receiver = isSqlite
      ? startReceiverThread(config, downstream, fail)
      : import('../inbox/receiver.ts').then(({ startReceiver }) => startReceiver(config, downstream));
    const stopReceiver = (): Promise<void> => receiver.then(({ stop }) => stop()).catch(() => {});
    cleanup.push(stopReceiver);

    // Send, and serve the API.
    const api = startApiThread(config, {
      applies: !isSqlite,
      latestStored,
      lockTurns: { ...lockTurns, comesFirst: false },
      census,
      log,
      counts: async () => {
        const { received, threads } = await (await receiver).counts();
        return { ...received, ...counts.read(), threads: { main: thread(), ...threads } };
      },
      wakeApply: () => signals.emit('stored'),
      failed: fail,
    });
    signals.on('queued', api.wakeSend);
    if (!isSqlite) signals.on('stored', api.wakeApply);
    // In parallel, because each may take most of the time allowed for a stop.
    cleanup.push(() => Promise.all([stopReceiver(), api.stop()]));

    const sidecar: Sidecar = {
      receiver: (await receiver).address,
      api: await api.listening,
      failed: failure.first,
      stop,
    };
    isServing = true;
    // First, before a listener closes.
    cleanup.push(() => {
      isServing = false;
    });
    failure.started();
    const sending = isSendingOff ? 'off' : 'on';
    log.info({ address: sidecar.receiver, environment: config.environment, sending }, 'receiving webhooks');
    if (isSendingOff) log.warn({}, PILOT);
    log.info({ address: sidecar.api }, 'private listener ready');
    return sidecar;
  } catch (error) {
    await stop();
    throw error;
  }
}
