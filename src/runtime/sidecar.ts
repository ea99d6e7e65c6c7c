/** The composition root: wires everything by hand, in pipeline order. */

import type { CensusFunction } from '../census/source.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Config, ConfigError, plainHttpVariables } from '../config.ts';
import { codeOf, isFatal } from '../database/errors.ts';
import { checkSchema, migrate } from '../database/migrate.ts';
import { abandon, holdServeLock, openDatabase } from '../database/open.ts';
import { watchFiles } from '../database/same-file.ts';
import { makeShrinkable } from '../database/shrink.ts';
import type { Db } from '../database/tables.ts';
import { type HighWaterMark, keepHint, noticeLostTail } from '../inbox/data-loss.ts';
import { createIntake } from '../inbox/intake.ts';
import { NotStored } from '../inbox/not-stored.ts';
import { createRefusals } from '../inbox/refusals.ts';
import type { RefusalCause } from '../inbox/signature.ts';
import { createReadiness } from '../operations/health.ts';
import { isAnyDropped } from '../operations/retention.ts';
import type { Log } from '../telemetry/log.ts';
import { createStoringCounts, type StoringCounts } from '../telemetry/receiver-counts.ts';
import { watchThread } from '../telemetry/thread-counts.ts';
import { startPrivateThread } from './api-worker.ts';
import { createApplying } from './applying.ts';
import { placementOf } from './placement.ts';
import type { Behind, ReceivingConfig, ReceivingSide } from './receiver-thread.ts';
import { startReceivingThread } from './receiver-worker.ts';

export type SidecarOptions = {
  log: Log;
  /** false: a database that lacks migrations is refused instead of migrated. */
  migrate?: boolean;
  /** Where a census comes from, in the place of `CENSUS_SOURCE`, which must then be `push`, its default. */
  census?: CensusFunction;
};

export type Sidecar = {
  /** Where the public and the private listener listen: `http://127.0.0.1:8080`. */
  readonly receiver: string;
  readonly api: string;
  /** Settles when the sidecar can't go on: the storage failed, or its private side ended. Then call `stop`. */
  readonly failed: Promise<Error>;
  /** Takes no more connections, answers what is in flight, lets the running batch finish, closes the database. */
  stop(): Promise<void>;
};

/**
 * Starts a sidecar: the public listener and intake on this thread, the private listener and the send loop on a worker
 * thread, so that a slow query never delays an acknowledgement; the apply loop on either.
 * Rejects, with nothing left running, when the database is refused or served by another process, a port is taken, or
 * the configuration and a census function both say where a census comes from.
 */
export async function createSidecar(config: Config, options: SidecarOptions): Promise<Sidecar> {
  const { log, census = null } = options;
  const now = systemClock;
  // Rather than to ignore one of the two: somebody meant it.
  if (census !== null && config.census.source.kind !== 'push') {
    throw new ConfigError('CENSUS_SOURCE', 'must be push where a function gives the census');
  }
  for (const reason of plainHttpVariables(config)) {
    log.warn({ reason }, 'the address is plain http: keys and personal data cross the network unencrypted');
  }
  const undo: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
  };
  try {
    const failure = Promise.withResolvers<Error>();
    const storing = new AbortController();
    let started = false;
    let isDamaged = false;
    const fail = (error: unknown): void => {
      isDamaged ||= isFatal(error);
      // One failure is met by many: by the driver, and by each caller that it throws to.
      if (storing.signal.aborted) return;
      // A start that fails rejects, and whoever started says so.
      if (started) log.fatal({ code: codeOf(error) }, 'the sidecar can not go on and must be started again');
      // After a failed sync nobody knows what the disk holds: nothing more is stored or applied.
      storing.abort();
      failure.resolve(error instanceof Error ? error : new Error('the sidecar can not go on'));
    };

    undo.push(holdServeLock(config.databaseUrl));
    const db = openDatabase(config.databaseUrl, fail);
    undo.push(() => (isDamaged ? abandon(db) : db.destroy()));
    await prepareDatabase(db, config, options, now);
    undo.push(watchFiles(config.databaseUrl, fail));

    const mark = keepHint(db, config.databaseUrl, log);
    undo.push(mark.stop);

    const place = placementOf(config.databaseUrl);
    const watch = watchThread();
    undo.push(() => watch.stop());
    const counts = createStoringCounts();
    const thread = startPrivateThread(config, {
      log,
      census,
      receiving: async () => {
        const { received, threads } = await (await receiving).counted();
        return { ...received, ...counts.read(), threads: { main: watch.read(), ...threads } };
      },
      wakeApply: () => applyLoop.wake(),
      failed: fail,
    });
    const applyLoop = createApplying(db, {
      now,
      log,
      applied: watch.applied,
      wakeSend: thread.wakeSend,
      failed: fail,
    });
    const refusals = createRefusals(now);
    const loops = Promise.all([
      place.applies === 'main' && applyLoop.run(storing.signal),
      refusals.run(db, storing.signal),
    ]);
    undo.push(async () => {
      storing.abort();
      await loops;
    });
    undo.push(() => thread.stop());

    const behind = behindReceiving(db, {
      now,
      log,
      counts,
      mark,
      refused: refusals.count,
      stored: (events) => (place.applies === 'main' ? applyLoop.wake(events) : thread.wakeApply(events)),
      storing: storing.signal,
      failed: fail,
    });
    const receiving = place.receivesApart
      ? startReceivingThread(config, behind, fail)
      : startReceivingHere(config, behind);
    // Side by side: each may take most of the time that there is to stop.
    undo.push(async () => {
      const stopped = receiving.then((side) => side.stop()).catch(() => {});
      await Promise.all([stopped, thread.stop()]);
    });
    const { address } = await receiving;
    const api = await thread.listening;
    started = true;
    const sidecar = { receiver: address, api, failed: failure.promise, stop };
    log.info({ address: sidecar.receiver, environment: config.environment }, 'receiving webhooks');
    log.info({ address: sidecar.api }, 'private listener ready');
    return sidecar;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Loaded only where it is needed: its HTTP server takes seven megabytes, which a thread of its own has already. */
async function startReceivingHere(config: ReceivingConfig, behind: Behind): Promise<ReceivingSide> {
  const { startReceivingSide } = await import('./receiver-thread.ts');
  return startReceivingSide(config, behind);
}

/** What stands behind the public listener: count, store. */
function behindReceiving(
  db: Db,
  on: {
    now: Clock;
    log: Log;
    counts: StoringCounts;
    mark: HighWaterMark;
    refused: (cause: RefusalCause) => void;
    /** So many new events are in the inbox. */
    stored: (events: number) => void;
    /** Aborted once nobody knows any more what the disk holds. */
    storing: AbortSignal;
    failed: (error: unknown) => void;
  },
): Behind {
  const { now, log, counts, refused, storing } = on;
  const intake = createIntake({
    db,
    now,
    log,
    onStored: (stored, tookMs) => {
      if (stored.newest !== null) on.mark.stored(stored.newest);
      counts.committed(stored, tookMs);
      on.stored(stored.accepted);
    },
    onFatal: on.failed,
  });
  const whyNotReady = createReadiness(db, now);
  return {
    accept: (arrival) => (storing.aborted ? Promise.reject(new NotStored()) : intake.accept(arrival)),
    refused,
    dropped: (count) => log.warn({ count }, 'connections were dropped: the public listener is full'),
    isAlive: async () => true,
    isReady: async () => (await whyNotReady()) === null,
  };
}

async function prepareDatabase(db: Db, config: Config, options: SidecarOptions, now: Clock): Promise<void> {
  const { log } = options;
  if (options.migrate === false) await checkSchema(db, config.environment);
  else {
    const applied = await migrate(db, config.environment, now());
    if (applied.length > 0) log.info({ count: applied.length }, 'migrated the database');
  }
  if (isAnyDropped(config.retention)) makeShrinkable(config.databaseUrl);
  await noticeLostTail(db, config.databaseUrl, now(), log);
}
