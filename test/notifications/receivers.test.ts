/** Receivers that fail in other ways than a status, and what is kept of them. */
import { subscribe } from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { createReceiver } from '../../src/notifications/attempt.ts';
import { dropNotifications, retryNotification } from '../../src/notifications/view.ts';
import { createTransport } from '../../src/outgoing.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { verifyNotification } from '../../src/testing.ts';
import { webhookSecret } from '../config-samples.ts';
import { START } from '../outbox/parts.ts';
import { type Answer, inTurn, json, stubService } from '../outbox/stub-service.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine, onPostgres } from '../support/engine.ts';
import { HOUR_MS, notificationLoop, notifyConfig, runsOf, SECRET, telling } from './parts.ts';

const DAY_MS = 24 * HOUR_MS;

t.test('a response that never ends ends with its attempt, and is a delivery', async (t) => {
  const { url } = await stubService(t, (response) => response.writeHead(200).write('a part'));
  const limit = new AbortController();
  const receiver = createReceiver(notifyConfig(url), '9.9.9', {
    ...createTransport(),
    timeout: () => limit.signal,
  });
  const responded = new Promise<void>((resolve) => subscribe('undici:request:headers', () => resolve()));
  const attempt = receiver.post('id', '{}', START, new AbortController().signal);
  await responded;
  limit.abort(new DOMException('late', 'TimeoutError'));
  t.strictSame(await attempt, { delivered: true, status: 200, reason: null });
});

t.test('a redirect is not followed, wherever it leads', async (t) => {
  const inside = await stubService(t, inTurn(200));
  const { url } = await stubService(t, (response) => json(response, 307, {}, { location: inside.url }));
  const receiver = createReceiver(notifyConfig(url), '9.9.9', createTransport());
  const attempted = await receiver.post('id', '{}', START, new AbortController().signal);
  t.match(attempted, { delivered: false, status: 307 });
  t.strictSame(inside.received, []);
});

onEitherEngine('a receiver that has another secret is sent the new one, without a restart', async (t) => {
  const fresh = webhookSecret(40);
  const secretsFile = join(t.testdir(), 'secrets');
  writeFileSync(secretsFile, SECRET, { mode: 0o400 });
  const knows: Answer = (response, { headers, body }) => {
    try {
      verifyNotification(fresh, headers as never, body);
      json(response, 204);
    } catch {
      json(response, 401);
    }
  };
  const { db, config, tell, stored } = await telling(t, knows);
  // Real time, because the library of receivers refuses old signatures.
  const sharedNow = async () => new Date();
  const { pass } = notificationLoop(db, { ...config, secretsFile }, { sharedNow });
  await tell();
  await pass();
  t.match(await stored(), [{ state: 'pending', status: 401 }]);
  writeFileSync(`${secretsFile}.new`, `${fresh} ${SECRET}`, { mode: 0o400 });
  renameSync(`${secretsFile}.new`, secretsFile);
  const again = async () => {
    await transact(db, (trx) =>
      trx.updateTable('notifications').set({ due_at: START.toISOString() }).execute(),
    );
    await pass();
  };
  await again();
  await again();
  t.match(await stored(), [{ state: 'delivered', status: 204, attempts: 3 }]);
});

onEitherEngine('after a week, a receiver is told what is not older than 72 hours', async (t) => {
  let status = 503;
  const { db, clock, tell, received, stored, pass } = await telling(t, (response) => json(response, status));
  for (let hour = 0; hour < 7 * 24; hour += 1) {
    if (hour === 0) await tell({ run_id: 'r-1' });
    if (hour === 48) await tell({ run_id: 'r-2' });
    if (hour === 120) await tell({ run_id: 'r-3' });
    clock.advance(HOUR_MS);
    await pass();
  }
  status = 200;
  received.splice(0);
  clock.advance(HOUR_MS);
  while ((await pass()) === 0);
  t.strictSame(runsOf(received), ['r-3']);
  const [first] = await stored();
  t.match(first, { state: 'failed', data: { run_id: 'r-1' } });
  await transact(db, (trx) => retryNotification(trx, String(first?.id), acting(clock().toISOString())));
  await pass();
  t.strictSame(runsOf(received), ['r-3', 'r-1'], 'by hand');
});

onEitherEngine('neither the address nor a response gets into the log or the database', async (t) => {
  const lines: string[] = [];
  const write = (fields: object, message: string) => lines.push(`${JSON.stringify(fields)} ${message}`);
  const log: Log = { debug: write, info: write, warn: write, error: write, fatal: write };
  const { db, config, tell, stored, clock } = await telling(t, (response) =>
    json(response, 400, { error: 'canary-of-the-response' }, { 'x-canary': 'canary-of-a-header' }),
  );
  const hidden = { ...config, url: `${config.url}?key=canary-of-the-address` };
  const { pass } = notificationLoop(db, hidden, { sharedNow: async () => clock(), log });
  await tell();
  await pass();
  t.equal(lines.length, 1);
  t.notMatch(JSON.stringify([lines, await stored()]), /canary|whsec_|127\.0\.0\.1/);
});

onEitherEngine('a notification is kept for 30 days after it is finished', async (t) => {
  const { db, clock, tell, stored, pass } = await telling(t, inTurn(200, 500));
  await tell({ run_id: 'r-1' });
  await pass();
  await tell({ run_id: 'r-2' });
  await pass();
  const drop = () => dropNotifications(db, clock(), async () => {});
  clock.advance(30 * DAY_MS);
  await drop();
  t.equal((await stored()).length, 2);
  clock.advance(1);
  await drop();
  t.match(await stored(), [{ state: 'pending', data: { run_id: 'r-2' } }], 'what waits is kept');
});

onPostgres('two sidecars at once send each notification once, in order per subject', async (t) => {
  const { db, clock, config, tell, received, pass } = await telling(t, inTurn(200));
  const other = notificationLoop(db, config, { sharedNow: async () => clock() });
  for (let index = 0; index < 30; index += 1)
    await tell({ run_id: `r-${index % 10}`, pay_date: `2026-07-${10 + index}` });
  for (let round = 0; round < 6; round += 1) await Promise.all([pass(), other.pass()]);
  t.equal(received.length, 30);
  for (let run = 0; run < 10; run += 1) {
    const dates = received
      .map(({ body }) => JSON.parse(body).data)
      .filter(({ run_id }) => run_id === `r-${run}`)
      .map(({ pay_date }) => pay_date);
    t.strictSame(dates, [`2026-07-${10 + run}`, `2026-07-${20 + run}`, `2026-07-${30 + run}`]);
  }
});
