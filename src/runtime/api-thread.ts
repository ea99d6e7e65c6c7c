/**
 * The private side: API, send loop, on PostgreSQL the apply loop, checkpoints and roster learning, on one thread with
 * connections of its own.
 */
import { pressureLimits } from '../api/pressure.ts';
import { createApi } from '../api/server.ts';
import { createCensusSender } from '../census/census-sender.ts';
import { resumeRosterUpdates } from '../census/roster-update.ts';
import type { CensusSource } from '../census/source.ts';
import { createDirSource } from '../census/source-dir.ts';
import { createHttpSource } from '../census/source-http.ts';
import { systemClock } from '../clock.ts';
import type { CensusConfig, Config } from '../config.ts';
import { addConsole } from '../console/console.ts';
import { type Call, callOthers, hearCalls } from '../database/calls.ts';
import { startCheckpoints } from '../database/checkpoints.ts';
import { databaseNow, engineOf } from '../database/engine.ts';
import { codeOf } from '../database/errors.ts';
import { openDatabase } from '../database/open.ts';
import type { Db } from '../database/tables.ts';
import { createChangeSenders } from '../employment/bodies.ts';
import { readActivity } from '../operations/activity.ts';
import { createReadiness } from '../operations/health.ts';
import { runRetention } from '../operations/retention.ts';
import { createClient } from '../outbox/client.ts';
import { createSendLoop } from '../outbox/send-loop.ts';
import type { Senders } from '../outbox/sender.ts';
import { createEncryptor, type Encryptor } from '../security/encryption.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import { addressOf, closeListener } from '../security/listener.ts';
import { createPrivateCounts } from '../telemetry/api-counts.ts';
import type { Log } from '../telemetry/log.ts';
import type { Receiving } from '../telemetry/receiver-counts.ts';
import { watchThread } from '../telemetry/thread-counts.ts';
import { VERSION } from '../version.ts';
import { createApplying } from './applying.ts';
import { placementOf } from './placement.ts';

export type PrivateSide = {
  /** Where the private listener listens. */
  readonly address: string;
  /** Something new is in the outbox. */
  wakeSend(): void;
  /** So many more events are in the inbox. */
  wakeApply(events: number): void;
  stop(): Promise<void>;
};

/** Starts it on a database that is migrated already. Rejects when the private listener's port is taken. */
export async function startPrivateSide(
  config: Config,
  on: {
    log: Log;
    /** In the place of the configuration's. */
    givenSource: CensusSource | null;
    /** What the other threads have counted. */
    receiving: () => Promise<Receiving>;
    wakeApply: () => void;
    failed: (error: unknown) => void;
  },
): Promise<PrivateSide> {
  const now = systemClock;
  const { log } = on;
  const watch = watchThread();
  const counts = createPrivateCounts();
  const db = openDatabase(config.databaseUrl, on.failed);
  const encryptor = createEncryptor(config.dataKeys);
  const client = createClient(config.benefits, VERSION, now);
  const sendLoop = createSendLoop({
    db,
    client,
    encryptor,
    senders: sendersOf(db, config.census, on.givenSource, encryptor),
    sharedNow: (trx) => databaseNow(trx, now),
    elapsedMs: () => performance.now(),
    random: Math.random,
    log,
    onEnded: (how) => {
      counts.attempts[how] += 1;
    },
  });
  const wakeSend = (): void => {
    sendLoop.wake();
    void callOthers(db, 'send');
  };
  const running = new AbortController();
  const appliesHere = placementOf(config.databaseUrl).applies === 'private';
  const applyLoop = createApplying(db, { now, log, applied: watch.applied, wakeSend, failed: on.failed });
  const wakeApply = (): void => (appliesHere ? applyLoop.wake() : on.wakeApply());
  const api = createApi({
    db,
    now,
    log,
    firstToken: config.api.token,
    overdueMs: config.census.overdueMs,
    silentAfterMs: config.silentAfterMs,
    censusFrom: on.givenSource === null ? config.census.source.kind : 'function',
    version: VERSION,
    whyNotReady: createReadiness(db, now),
    encryptor,
    receiving: on.receiving,
    thread: watch.read,
    counts,
    pressure: pressureLimits(),
    wakeApply: () => {
      wakeApply();
      void callOthers(db, 'apply');
    },
    wakeSend,
    onFatal: on.failed,
  });
  addConsole(api, {
    db,
    now,
    log,
    firstToken: config.api.token,
    environment: config.environment,
    onFatal: on.failed,
    readActivity: () => readActivity(db),
  });
  await api.listen({ host: config.api.host, port: config.api.port });

  const wake: Record<Call, () => void> = { apply: wakeApply, send: sendLoop.wake };
  const heard = hearCalls(config.databaseUrl, (call) => wake[call](), running.signal);
  const sent = sendLoop.run(running.signal).catch(on.failed);
  const applied = appliesHere ? applyLoop.run(running.signal).catch(on.failed) : null;
  const learned = learn(db, encryptor, log);
  const { databaseUrl, retention } = config;
  const retained = runRetention({ db, databaseUrl, retention, now, log, failed: on.failed }, running.signal);
  const stopCheckpoints =
    engineOf(db) === 'sqlite' ? startCheckpoints(config.databaseUrl, on.failed) : () => {};
  return {
    address: addressOf(api),
    wakeSend,
    wakeApply: applyLoop.wake,
    async stop() {
      running.abort();
      await Promise.all([closeListener(api), sent, applied, learned, heard, retained]);
      stopCheckpoints();
      watch.stop();
      await client.close();
      await db.destroy();
    },
  };
}

function sendersOf(db: Db, census: CensusConfig, given: CensusSource | null, encryptor: Encryptor): Senders {
  const source = given ?? censusSource(census);
  return {
    census: createCensusSender({ db, encryptor, now: systemClock, source, maxAgeMs: census.maxAgeMs }),
    ...createChangeSenders(encryptor),
  };
}

/** What an earlier process had begun to learn. Never rejects. */
async function learn(db: Db, encryptor: Encryptor, log: Log): Promise<void> {
  try {
    await resumeRosterUpdates({ db, encryptor, now: systemClock });
  } catch (error) {
    const reason = keyErrorMessage(error) ?? codeOf(error);
    log.error(
      { code: codeOf(error), reason },
      'a census could not be learned: it is tried again at the next start',
    );
  }
}

/** Null for push: payroll brings its censuses. */
function censusSource({ source, token }: CensusConfig): CensusSource | null {
  if (source.kind === 'dir') return createDirSource(source.path);
  if (source.kind === 'http') return createHttpSource(source.url, token, VERSION);
  return null;
}
