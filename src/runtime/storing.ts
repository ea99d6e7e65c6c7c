/** Wires what the main thread runs: the database, the intake and, on SQLite, the apply loop. */
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { engineOf } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import { adoptTimeZone, checkSchema, migrate } from '../database/migrate.ts';
import { abandon, openDatabase, watchFiles } from '../database/open.ts';
import { createLockTurns } from '../database/sqlite.ts';
import type { Db } from '../database/tables.ts';
import { codeOf, isAppError } from '../errors.ts';
import { createApplyLoop } from '../inbox/apply.ts';
import { detectDataLoss, keepHighWaterMark, type NewestEvent } from '../inbox/data-loss.ts';
import { receivedNow } from '../inbox/inbox.ts';
import { createIntake } from '../inbox/intake.ts';
import { notStored } from '../inbox/intake-channel.ts';
import type { Downstream } from '../inbox/receiver.ts';
import { createRefusals } from '../inbox/refusals.ts';
import { createServerWatch } from '../inbox/server-loss.ts';
import { adoptTypes } from '../notifications/store.ts';
import { readLatestStored } from '../operations/clock-check.ts';
import { createReadiness } from '../operations/health.ts';
import { adoptSending } from '../operations/pilot.ts';
import { migrationRecord, SYSTEM } from '../security/audit.ts';
import { createStoringCounts, watchThread } from '../telemetry/counts.ts';
import type { Log } from '../telemetry/log.ts';
import type { Clocks } from './clocks.ts';

export type StoringParts = {
  log: Log;
  clocks: Clocks;
  /** false: refuses a database that lacks migrations instead of migrating it. */
  migrate: boolean;
  /** Started parts are added to it. The caller calls them in reverse order to stop. */
  cleanup: (() => unknown)[];
};

/** Opens and migrates the database, then stores events and, on SQLite, applies them. */
export async function startStoring(config: Config, { log, clocks, cleanup, ...options }: StoringParts) {
  const { now, sharedNow } = clocks;
  const failure = createFailure(log);
  const { fail, storing } = failure;
  // Threads and loops wake each other through signals, so that the stages can be wired in pipeline order.
  const signals = new EventEmitter<{ stored: [events?: number]; queued: [] }>();

  // Database.
  const lockTurns = createLockTurns();
  const db = openDatabase(config.databaseUrl, fail, lockTurns);
  cleanup.push(() => (failure.isDamaged() ? abandon(db) : db.destroy()));
  if (!options.migrate) await checkSchema(db, config.environment);
  else {
    const at = now();
    const migrated = migrationRecord({ actor: SYSTEM, now: at.toISOString() });
    const applied = await migrate(db, config.environment, at, { migrated, timeZone: config.timeZone });
    if (applied.length > 0) log.info({ count: applied.length }, 'migrated the database');
  }
  await adoptTimeZone(db, config.timeZone);
  const isSendingOff = await adoptSending(db, config, sharedNow);
  await adoptTypes(db, config.notify);
  await detectDataLoss(db, config.databaseUrl, now(), log);
  // Read before anything is stored at a time that may be wrong.
  const latestStored = await readLatestStored(db);
  cleanup.push(watchFiles(config.databaseUrl, fail));
  const loops: Promise<void>[] = [];
  let noteStored: (newest: NewestEvent) => void;
  if (engineOf(db) === 'sqlite') {
    const mark = keepHighWaterMark(db, config.databaseUrl, log);
    cleanup.push(mark.stop);
    noteStored = mark.stored;
  } else {
    const server = createServerWatch(db, now, log);
    loops.push(server.run(storing.signal));
    loops.push(watchTimeZone(db, config.timeZone, storing.signal).catch(fail));
    noteStored = server.stored;
  }
  const watch = watchThread();
  cleanup.push(watch.stop);
  cleanup.push(() => {
    storing.abort();
    return Promise.all(loops);
  });

  // Receive and store.
  const refusals = createRefusals(sharedNow, log);
  loops.push(refusals.run(db, storing.signal));
  const counts = createStoringCounts();
  const intake = createIntake({
    db,
    receivedAt: () => receivedNow(engineOf(db), now),
    log,
    onStored: (stored, tookMs) => {
      if (stored.newest !== null) noteStored(stored.newest);
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

  // Apply, on SQLite. On PostgreSQL the API thread does.
  if (engineOf(db) === 'sqlite') {
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
  return { downstream, failure, signals, isSendingOff, latestStored, counts, lockTurns, thread: watch.read };
}

/** How often the stored time zone is read. No lock keeps a command from changing it while sidecars use PostgreSQL. */
const TIME_ZONE_EVERY_MS = 1_000;

/** Runs until the signal aborts. Throws SCHEMA_REFUSED once the time zone of the database is not that of this process. */
async function watchTimeZone(db: Db, configured: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(TIME_ZONE_EVERY_MS, undefined, { signal }).catch(() => {});
    await adoptTimeZone(db, configured).catch((error) => {
      // Other parts report that the server cannot be read.
      if (isAppError(error, 'SCHEMA_REFUSED')) throw error;
    });
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
