/** A second sender on the same database. Sends due requests until it is killed. */
import { createCensusSender } from '../../src/census/census-sender.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { sharedClock } from '../../src/database/engine.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createClient } from '../../src/outbox/client.ts';
import { createSendLoop } from '../../src/outbox/send-loop.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { silentLog } from '../../src/telemetry/log.ts';

const config = readConfig(process.env);
const now = systemClock;
const sharedNow = sharedClock(now);
const db = openDatabase(config.databaseUrl);
const encryptor = createEncryptor(config.dataKeys);
const { maxAgeMs } = config.census;
const loop = createSendLoop({
  db,
  client: createClient(config.benefits, '0.0.0', now),
  encryptor,
  senders: { census: createCensusSender({ db, encryptor, sharedNow, source: null, maxAgeMs }) },
  sharedNow,
  elapsedMs: () => performance.now(),
  random: Math.random,
  log: silentLog,
  onEnded: () => {},
});
await loop.run(new AbortController().signal);
