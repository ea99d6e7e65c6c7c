/**
 * The private side: API, send loop, on PostgreSQL the apply loop, checkpoints and roster learning, on one thread with
 * connections of its own.
 */
import { createApi } from './api/server.ts';
import { applyingSide, createApplying } from './applying.ts';
import { createCensusSender } from './census/census-sender.ts';
import { learnRest } from './census/learn.ts';
import type { CensusSource } from './census/source.ts';
import { createDirSource } from './census/source-dir.ts';
import { createHttpSource } from './census/source-http.ts';
import { systemClock } from './clock.ts';
import type { CensusConfig, Config } from './config.ts';
import { type Call, callOthers, hearCalls } from './database/calls.ts';
import { startCheckpoints } from './database/checkpoints.ts';
import { databaseNow, engineOf } from './database/engine.ts';
import { codeOf } from './database/errors.ts';
import { openDatabase } from './database/open.ts';
import { addressOf, closeListener } from './listening.ts';
import { createReadiness } from './observe/health.ts';
import type { Log } from './observe/log.ts';
import { createChangeSenders } from './outbound/change-sender.ts';
import { createClient } from './outbound/client.ts';
import { createSendLoop } from './outbound/send-loop.ts';
import { keyTrouble } from './security/key-trouble.ts';
import { createSealer } from './security/sealing.ts';
import { VERSION } from './version.ts';

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
    wakeApply: () => void;
    failed: (error: unknown) => void;
  },
): Promise<PrivateSide> {
  const now = systemClock;
  const { log } = on;
  const db = openDatabase(config.databaseUrl);
  const sealer = createSealer(config.dataKeys);
  const client = createClient(config.benefits, VERSION, now);
  const source = on.givenSource ?? censusSource(config.census);
  const { maxAgeMs, overdueMs } = config.census;
  const sendLoop = createSendLoop({
    db,
    client,
    sealer,
    senders: {
      census: createCensusSender({ db, sealer, now, source, maxAgeMs }),
      ...createChangeSenders(sealer),
    },
    sharedNow: (trx) => databaseNow(trx, now),
    elapsedMs: () => performance.now(),
    random: Math.random,
    log,
  });
  const wakeSend = (): void => {
    sendLoop.wake();
    void callOthers(db, 'send');
  };
  const running = new AbortController();
  const appliesHere = applyingSide(config.databaseUrl) === 'private';
  const applyLoop = createApplying(db, { now, log, wakeSend, failed: on.failed });
  const wakeApply = (): void => (appliesHere ? applyLoop.wake() : on.wakeApply());
  const api = createApi({
    db,
    now,
    log,
    firstToken: config.api.token,
    overdueMs,
    version: VERSION,
    isReady: createReadiness(db, now),
    sealer,
    wakeApply: () => {
      wakeApply();
      void callOthers(db, 'apply');
    },
    wakeSend,
    onFatal: on.failed,
  });
  await api.listen({ host: config.api.host, port: config.api.port });

  const wake: Record<Call, () => void> = { apply: wakeApply, send: sendLoop.wake };
  const heard = hearCalls(config.databaseUrl, (call) => wake[call](), running.signal);
  const sent = sendLoop.run(running.signal).catch(on.failed);
  const applied = appliesHere ? applyLoop.run(running.signal).catch(on.failed) : null;
  const learned = learnRest({ db, sealer, now }).catch((error: unknown) => {
    const reason = keyTrouble(error) ?? codeOf(error);
    log.error(
      { code: codeOf(error), reason },
      'a census could not be learned: it is tried again at the next start',
    );
  });
  const stopCheckpoints =
    engineOf(db) === 'sqlite' ? startCheckpoints(config.databaseUrl, on.failed) : () => {};
  return {
    address: addressOf(api),
    wakeSend,
    wakeApply: applyLoop.wake,
    async stop() {
      running.abort();
      await Promise.all([closeListener(api), sent, applied, learned, heard]);
      stopCheckpoints();
      await client.close();
      await db.destroy();
    },
  };
}

/** Null for push: payroll brings its censuses. */
function censusSource({ source, token }: CensusConfig): CensusSource | null {
  if (source.kind === 'dir') return createDirSource(source.path);
  if (source.kind === 'http') return createHttpSource(source.url, token, VERSION);
  return null;
}
