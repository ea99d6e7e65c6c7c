/**
 * Stages a census of many employees from a stream and uploads it, in its own process whose memory is measured.
 * Arguments: the database's address, the service's address, the number of employees. Prints one line.
 */
import { createCensusSender } from '../../src/census/census-sender.ts';
import { stageCensus } from '../../src/census/staging.ts';
import { requestSync } from '../../src/census/syncs.ts';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { createClient } from '../../src/outbox/client.ts';
import { createSendLoop } from '../../src/outbox/send-loop.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { organization, person } from '../census/parts.ts';

const [databaseUrl = '', serviceUrl = '', employees = ''] = process.argv.slice(2);
const ROWS_A_PART = 100;

const now = () => new Date();
const db = openDatabase(databaseUrl);
await migrate(db, 'sandbox', now());
const encryptor = createEncryptor([{ id: 'k1', key: Buffer.alloc(32, 7) }]);
const staged = await stageCensus({ db, encryptor, sharedNow: async () => now() }, 'a', {
  format: 'json',
  content: rows(Number(employees)),
});
await transact(db, (trx) =>
  requestSync(trx, { employerId: 'a', eventId: 'event-1', now: now().toISOString() }),
);
const client = createClient({ baseUrl: serviceUrl, apiKey: 'key', apiKeyFile: null }, '9.9.9', now);
const census = createCensusSender({
  db,
  encryptor,
  sharedNow: async () => now(),
  source: null,
  maxAgeMs: 3_600_000,
});
const senders = { census };
const loop = createSendLoop({
  db,
  client,
  encryptor,
  senders,
  sharedNow: async () => now(),
  elapsedMs: () => performance.now(),
  random: Math.random,
  log: silentLog,
  onEnded: () => {},
});
const { delivered } = await loop.runOnce();
await client.close();
await db.destroy();
const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(JSON.stringify({ ok: staged.ok, employees: staged.employees, delivered, peakMiB }));

/** The organization comes last, which is the harder order. */
async function* rows(count: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"employees":[');
  for (let from = 0; from < count; from += ROWS_A_PART) {
    const some = Array.from({ length: Math.min(ROWS_A_PART, count - from) }, (_, n) => text(from + n));
    yield Buffer.from((from === 0 ? '' : ',') + some.join());
  }
  yield Buffer.from(`],"organization":${JSON.stringify(organization)}}`);
}

function text(n: number): string {
  return JSON.stringify(
    person(`employee-${n}`, { job_title: `Engineer of line ${n % 40}`, pay_frequency: 'biweekly' }),
  );
}
