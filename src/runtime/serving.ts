/** Wires what the API thread runs: API and console, send loop, retention, and on PostgreSQL the apply loop. */
import { createParts } from '../api/parts.ts';
import type { PressureLimits } from '../api/pressure.ts';
import type { ApiParts } from '../api/route.ts';
import { createApi } from '../api/server.ts';
import { createCensusSender } from '../census/census-sender.ts';
import { resumeRosterUpdates } from '../census/roster-update.ts';
import type { CensusFetcher } from '../census/source.ts';
import { legalNameOf } from '../census/staged.ts';
import { tidyCensuses } from '../census/staging.ts';
import type { Config } from '../config.ts';
import { addConsole } from '../console/console.ts';
import { startCheckpoints } from '../database/checkpoints.ts';
import { engineOf } from '../database/engine.ts';
import { createSidecarNotifier, type LoopName, listenForWakes } from '../database/notifier.ts';
import { openDatabase } from '../database/open.ts';
import type { LockTurns } from '../database/sqlite.ts';
import type { Db } from '../database/tables.ts';
import { setTimeZone } from '../database/time-zone.ts';
import { createChangeSenders } from '../employment/bodies.ts';
import { codeOf } from '../errors.ts';
import { createApplyLoop } from '../inbox/apply.ts';
import { readMark } from '../operations/activity.ts';
import { createHeadKeeper } from '../operations/audit-heads.ts';
import { createClockCheck } from '../operations/clock-check.ts';
import { createReadiness } from '../operations/health.ts';
import { runRetention } from '../operations/retention.ts';
import { createClient } from '../outbox/client.ts';
import { isSendingOff } from '../outbox/pilot.ts';
import { createSendLoop } from '../outbox/send-loop.ts';
import type { Transport } from '../outgoing.ts';
import { sourceThroughFormats } from '../payroll/settings/census-format.ts';
import { createEncryptor, type Encryptor } from '../security/encryption.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import type { OpenIdProvider } from '../security/openid.ts';
import { createPrivateCounts, type Receiving, watchThread } from '../telemetry/counts.ts';
import type { Log } from '../telemetry/log.ts';
import { VERSION } from '../version.ts';
import type { Clocks } from './clocks.ts';
import { createTelling } from './telling.ts';

export type ServingParts = {
  log: Log;
  clocks: Clocks;
  /** Numbers in [0, 1). */
  random: () => number;
  /** How requests reach the benefits service. */
  transport: Transport;
  /** Null unless people sign in with OpenID Connect. */
  openId: OpenIdProvider | null;
  /** Null for `push`: payroll uploads its censuses. */
  source: CensusFetcher | null;
  /** Whether the source is a function of the embedding program. */
  hasCensusFunction: boolean;
  /** Whether the apply loop runs here. */
  applies: boolean;
  /** The newest time that the database held at the start. */
  latestStored: string | null;
  /** How this thread takes the write lock of SQLite. */
  lockTurns: LockTurns;
  pressure: PressureLimits;
  receiving: () => Promise<Receiving>;
  /** Wakes the apply loop of the main thread. */
  wakeApply: () => void;
  failed: (error: unknown) => void;
};

/** Creates the API and the loops on a database that is migrated already. `run` starts the loops. */
export function createServing(config: Config, parts: ServingParts) {
  const { log, clocks, failed } = parts;
  const { now, sharedNow, elapsed } = clocks;
  const watch = watchThread();
  const counts = createPrivateCounts();
  const stopping = new AbortController();
  const db = openDatabase(config.databaseUrl, failed, parts.lockTurns);
  setTimeZone(db, config.timeZone);
  const encryptor = createEncryptor(config.dataKeys);
  const clock = createClockCheck({
    ...{ db, now, sharedNow, log },
    elapsedMs: clocks.uptimeMs,
    latestStored: parts.latestStored,
  });

  const { auditHeads, dataKeys } = config;
  const heads = createHeadKeeper({ db, now, log, auditHeads, dataKeys });

  // Send.
  const client = createClient(config.benefits, VERSION, now, parts.transport);
  const { maxAgeMs } = config.census;
  const stored = { db, encryptor, sharedNow };
  const source = parts.source && sourceThroughFormats(stored, parts.source);
  const sendLoop = createSendLoop({
    db,
    client,
    encryptor,
    senders: {
      census: createCensusSender({ ...stored, source, maxAgeMs }),
      ...createChangeSenders(encryptor, (employerId) => legalNameOf(db, encryptor, employerId)),
    },
    sharedNow,
    elapsedMs: elapsed.now,
    random: parts.random,
    log,
    onEnded: (outcome) => {
      counts.attempts[outcome] += 1;
    },
  });
  const notifySidecars = createSidecarNotifier(db);
  const wakeSend = (): void => {
    sendLoop.wake();
    void notifySidecars('send');
  };

  // Apply, on PostgreSQL. On SQLite the main thread does.
  const applyLoop = parts.applies
    ? createApplyLoop({
        db,
        sharedNow,
        log,
        onApplied: (applied) => {
          watch.applied(applied);
          if (applied.syncsRequested > 0) wakeSend();
        },
        onFatal: failed,
      })
    : null;
  const wakeApply = (): void => (applyLoop === null ? parts.wakeApply() : applyLoop.wake());

  const telling = createTelling(config, {
    ...{ db, log, clocks, random: parts.random, transport: parts.transport },
    clockWarning: clock.warning,
    onEnded: (how) => {
      counts.notifications[how] += 1;
    },
  });

  const api = createServedApi(config, parts, {
    db,
    notifySidecars,
    wakeSend,
    wakeApply,
    counts,
    watch,
    heads,
    clock,
  });

  const loops: Promise<unknown>[] = [];
  let stopCheckpoints = () => {};
  return {
    api,
    wakeSend,
    /** Signals that `events` more events are pending (unknown if omitted). */
    wakeApply: (events?: number): void => applyLoop?.wake(events),
    /** Starts the loops. Call it once the listener has its port: nothing is sent or applied before. */
    run(): void {
      const { databaseUrl, retention } = config;
      const { signal } = stopping;
      const wake: Record<LoopName, () => void> = { apply: wakeApply, send: sendLoop.wake };
      loops.push(
        sendLoop.run(signal).catch(failed),
        applyLoop?.run(signal).catch(failed) ?? Promise.resolve(),
        telling?.run(signal).catch(failed) ?? Promise.resolve(),
        listenForWakes(databaseUrl, (loop) => wake[loop](), signal),
        finishRosterUpdates(db, encryptor, clocks, log),
        clock.run(signal),
        heads.run(signal),
        runRetention(
          { db, databaseUrl, retention, sharedNow, clockWarning: clock.warning, log, failed },
          signal,
        ),
      );
      if (engineOf(db) === 'sqlite') stopCheckpoints = startCheckpoints(databaseUrl, failed);
    },
    /** Ends the loops and closes the database. `closeApi` ends the listener. */
    async stop(closeApi: () => Promise<void>): Promise<void> {
      stopping.abort();
      await Promise.all([closeApi(), ...loops]);
      await heads.keep();
      stopCheckpoints();
      watch.stop();
      await client.close();
      await db.destroy();
    },
  };
}

type Served = {
  db: Db;
  notifySidecars: ReturnType<typeof createSidecarNotifier>;
  wakeSend: () => void;
  wakeApply: () => void;
  counts: ReturnType<typeof createPrivateCounts>;
  watch: ReturnType<typeof watchThread>;
  heads: ReturnType<typeof createHeadKeeper>;
  clock: ReturnType<typeof createClockCheck>;
};

/** Creates the API with the console. */
function createServedApi(config: Config, parts: ServingParts, served: Served) {
  const { db, notifySidecars, wakeSend, wakeApply, counts, watch, heads, clock } = served;
  const { log, clocks, hasCensusFunction, failed } = parts;
  const { now, sharedNow, elapsed } = clocks;
  const { token: firstToken, proxies } = config.api;
  const { signIn } = config;
  const apiParts: ApiParts = {
    ...createParts(config, {
      ...{ db, now, sharedNow, log, firstToken, wakeSend },
      clockWarning: clock.warning,
      receiving: parts.receiving,
      wakeApply: () => {
        wakeApply();
        void notifySidecars('apply');
      },
      keepHead: heads.keep,
    }),
    ...(hasCensusFunction && { censusFrom: 'function', mayFetch: async () => true }),
    ...{ elapsed, signIn, proxies, counts, onFatal: failed },
    version: VERSION,
    whyNotReady: createReadiness(db, now),
    thread: watch.read,
    pressure: parts.pressure,
  };
  const api = createApi(apiParts);
  addConsole(api, {
    ...apiParts,
    openId: parts.openId,
    environment: config.environment,
    isSendingOff: () => isSendingOff(db),
    readMark: () => readMark(db),
  });
  return api;
}

/** Updates the roster from censuses that an earlier process did not finish. Never rejects. */
async function finishRosterUpdates(
  db: Db,
  encryptor: Encryptor,
  { sharedNow }: Clocks,
  log: Log,
): Promise<void> {
  try {
    await tidyCensuses(db, sharedNow);
    await resumeRosterUpdates({ db, encryptor, sharedNow });
  } catch (error) {
    const fields = { code: codeOf(error), reason: keyErrorMessage(error) ?? codeOf(error) };
    log.error(
      fields,
      'the roster could not be updated from a census: it will be tried again at the next start',
    );
  }
}
