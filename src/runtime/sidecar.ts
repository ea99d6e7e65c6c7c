/** The composition root: wires a sidecar by hand, in pipeline order. */
import { EventEmitter } from 'node:events';
import type { CensusFunction } from '../census/source.ts';
import { systemClock } from '../clock.ts';
import { type Config, plainHttpVariables } from '../config.ts';
import { engineOf, engineOfUrl, sharedClock } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import { checkSchema, migrate } from '../database/migrate.ts';
import { abandon, holdServeLock, openDatabase, watchFiles } from '../database/open.ts';
import { makeShrinkable } from '../database/shrink.ts';
import { configError } from '../environment.ts';
import { codeOf } from '../errors.ts';
import { createApplyLoop } from '../inbox/apply.ts';
import { detectDataLoss, keepHighWaterMark } from '../inbox/data-loss.ts';
import { receivedNow } from '../inbox/inbox.ts';
import { createIntake } from '../inbox/intake.ts';
import { notStored } from '../inbox/intake-channel.ts';
import type { Downstream } from '../inbox/receiver.ts';
import { createRefusals } from '../inbox/refusals.ts';
import { readLatestStored } from '../operations/clock-check.ts';
import { createReadiness } from '../operations/health.ts';
import { isAnyDropped } from '../operations/retention.ts';
import { createStoringCounts, watchThread } from '../telemetry/counts.ts';
import type { Log } from '../telemetry/log.ts';
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

/**
 * Starts a sidecar. A slow query on the API thread never delays an acknowledgement. SQLite runs on the thread that calls it:
 * the main thread stores and applies while a receiver thread reads the next deliveries. PostgreSQL runs elsewhere, so the
 * main thread has time to receive and the API thread to apply. Rejects with nothing left running.
 */
export async function createSidecar(config: Config, options: SidecarOptions): Promise<Sidecar> {
  const { log, census = null } = options;
  const now = systemClock;
  const sharedNow = sharedClock(now);
  const isSqlite = engineOfUrl(config.databaseUrl) === 'sqlite';
  if (census !== null && config.census.source.kind !== 'push') {
    throw configError('CENSUS_SOURCE', 'must be push when a function provides the census');
  }
  for (const reason of plainHttpVariables(config)) {
    log.warn(
      { reason },
      'an address uses plain HTTP: keys and personal data cross the network unencrypted, so use HTTPS',
    );
  }

  // Started parts are stopped in reverse order.
  const cleanup: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (let step = cleanup.pop(); step !== undefined; step = cleanup.pop()) await step();
  };
  try {
    const failure = createFailure(log);
    const { fail, storing } = failure;
    // Threads and loops wake each other through signals, so that the stages can be wired in pipeline order.
    const signals = new EventEmitter<{ stored: [events?: number]; queued: [] }>();

    // Database.
    cleanup.push(holdServeLock(config.databaseUrl));
    const db = openDatabase(config.databaseUrl, fail);
    cleanup.push(() => (failure.isDamaged() ? abandon(db) : db.destroy()));
    if (options.migrate === false) await checkSchema(db, config.environment);
    else {
      const applied = await migrate(db, config.environment, now());
      if (applied.length > 0) log.info({ count: applied.length }, 'migrated the database');
    }
    if (isAnyDropped(config.retention)) makeShrinkable(config.databaseUrl);
    await detectDataLoss(db, config.databaseUrl, now(), log);
    // Read before anything is stored at a time that may be wrong.
    const latestStored = await readLatestStored(db);
    cleanup.push(watchFiles(config.databaseUrl, fail));
    const mark = keepHighWaterMark(db, config.databaseUrl, log);
    cleanup.push(mark.stop);
    const watch = watchThread();
    cleanup.push(watch.stop);
    const loops: Promise<void>[] = [];
    cleanup.push(() => {
      storing.abort();
      return Promise.all(loops);
    });

    // Receive and store.
    const refusals = createRefusals(sharedNow);
    loops.push(refusals.run(db, storing.signal));
    const counts = createStoringCounts();
    const intake = createIntake({
      db,
      receivedAt: () => receivedNow(engineOf(db), now),
      log,
      onStored: (stored, tookMs) => {
        if (stored.newest !== null) mark.stored(stored.newest);
        counts.committed(stored, tookMs);
        signals.emit('stored', stored.accepted);
      },
      onFatal: fail,
    });
    const whyNotReady = createReadiness(db, now);
    const downstream: Downstream = {
      accept: (arrival) => (storing.signal.aborted ? Promise.reject(notStored()) : intake.accept(arrival)),
      refused: refusals.count,
      dropped: (count) =>
        log.warn({ count }, 'connections were dropped: the receiver reached its connection limit'),
      isAlive: async () => true,
      isReady: async () => (await whyNotReady()) === null,
    };
    // On PostgreSQL the HTTP server is loaded here. It takes 7 MB, which on SQLite the receiver thread already uses.
    const receiver = isSqlite
      ? startReceiverThread(config, downstream, fail)
      : import('../inbox/receiver.ts').then(({ startReceiver }) => startReceiver(config, downstream));
    const stopReceiver = (): Promise<void> => receiver.then(({ stop }) => stop()).catch(() => {});
    cleanup.push(stopReceiver);

    // Apply, on SQLite. On PostgreSQL the API thread does.
    if (isSqlite) {
      const applyLoop = createApplyLoop({
        db,
        sharedNow,
        log,
        onApplied: (applied) => {
          watch.applied(applied);
          if (applied.syncsRequested > 0) signals.emit('queued');
        },
        onFatal: fail,
      });
      signals.on('stored', applyLoop.wake);
      loops.push(applyLoop.run(storing.signal));
    }

    // Send, and serve the API.
    const api = startApiThread(config, {
      applies: !isSqlite,
      latestStored,
      census,
      log,
      counts: async () => {
        const { received, threads } = await (await receiver).counts();
        return { ...received, ...counts.read(), threads: { main: watch.read(), ...threads } };
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
    failure.started();
    log.info({ address: sidecar.receiver, environment: config.environment }, 'receiving webhooks');
    log.info({ address: sidecar.api }, 'private listener ready');
    return sidecar;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Collects failures of any part. The first one ends storing and applying: after it, what the disk holds is unknown. */
function createFailure(log: Log) {
  const first = Promise.withResolvers<Error>();
  const storing = new AbortController();
  let hasStarted = false;
  let isDamaged = false;
  return {
    first: first.promise,
    /** Aborted by a failure and by a stop. */
    storing,
    isDamaged: () => isDamaged,
    /** From now on a failure is logged. Before, the start rejects with it. */
    started(): void {
      hasStarted = true;
    },
    fail(error: unknown): void {
      isDamaged ||= isFatal(error);
      // The driver and each of its callers report the same failure.
      if (storing.signal.aborted) return;
      if (hasStarted) log.fatal({ code: codeOf(error) }, 'the sidecar failed and must be restarted');
      storing.abort();
      first.resolve(error instanceof Error ? error : new Error('the sidecar failed'));
    },
  };
}
