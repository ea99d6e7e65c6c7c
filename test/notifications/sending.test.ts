import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { createReceiver } from '../../src/notifications/attempt.ts';
import { backoffMs, pauseMs, RETRIED_FOR_MS } from '../../src/notifications/retry.ts';
import { adoptTypes, notify, tellPosition } from '../../src/notifications/store.ts';
import { signedHeaders } from '../../src/notifications/webhook.ts';
import { createTransport } from '../../src/outgoing.ts';
import { makeNotification, verifyNotification } from '../../src/testing.ts';
import { webhookSecret } from '../config-samples.ts';
import { START } from '../outbox/parts.ts';
import { type Answer, inTurn, json, stubService } from '../outbox/stub-service.ts';
import { onEitherEngine, onPostgres } from '../support/engine.ts';
import { HOUR_MS, notificationLoop, notifyConfig, RUN, runsOf, SECRET, telling } from './parts.ts';

const accept: Answer = (response) => json(response, 204);

onEitherEngine('a notification is delivered as it was stored, and any secret verifies it', async (t) => {
  const { db, clock, url, received, tell, stored } = await telling(t, accept);
  const id = await tell();
  clock.advance(1_000);
  const other = webhookSecret(24);
  const config = notifyConfig(`${url}/hooks?of=payroll`, { secrets: [other, SECRET] });
  await notificationLoop(db, config, { sharedNow: async () => clock() }).pass();
  const [request] = received;
  t.match(request, {
    ...{ method: 'POST', path: '/hooks?of=payroll' },
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(clock().getTime() / 1_000)),
      'content-type': 'application/json',
      'user-agent': 'benefits-sidecar/9.9.9',
    },
  });
  const text = 'Payroll run r-1 of employer acme for 2026-07-17 is final. Take its deductions.';
  const body = { type: 'run.finalized', timestamp: START.toISOString(), data: RUN, text };
  t.strictSame(JSON.parse(request?.body ?? ''), body);
  const signed = signedHeaders([other, SECRET], String(id), clock(), request?.body ?? '');
  t.match(request?.headers, signed, 'signed with every secret');
  t.match(await stored(), [{ id, state: 'delivered', attempts: 1, status: 204, next_attempt_at: null }]);
});

t.test('a receiver verifies with either secret of a rotation, and no other', async (t) => {
  const [old, fresh] = [webhookSecret(24), webhookSecret(32)];
  const { headers, body, notification } = makeNotification([old, fresh], 'run.finalized', RUN);
  for (const secret of [old, fresh, [fresh, old]]) {
    t.strictSame(verifyNotification(secret, headers, body), notification);
  }
  t.strictSame(verifyNotification(fresh, new Headers(headers), body), notification, 'of a Fetch API request');
  t.throws(() => verifyNotification(webhookSecret(40), headers, body));
  t.throws(() => verifyNotification(old, headers, `${body} `));
});

t.test('an unknown notification type is named with the known ones', async (t) => {
  const unknown = 'run.finalised' as 'run.finalized';
  const known =
    /^"run\.finalised" is not a notification type\. Use one of run\.finalized, run\.voided, .*, notification\.test\.$/;
  t.throws(() => makeNotification(SECRET, unknown, RUN), { message: known });
});

onEitherEngine('without an address, and of other types, nothing is stored', async (t) => {
  const { db, tell, stored, config } = await telling(t, accept);
  await adoptTypes(db, { ...config, types: ['run.finalized'] });
  await transact(db, (trx) => notify(trx, 'notification.test', {}, START.toISOString()));
  await tell();
  await adoptTypes(db, { ...config, types: [] });
  await tell({ run_id: 'r-2' });
  await adoptTypes(db, null);
  await tell({ run_id: 'r-3' });
  t.strictSame(
    (await stored()).map(({ type, data }) => [type, data.run_id]),
    [
      ['notification.test', undefined],
      ['run.finalized', 'r-1'],
    ],
  );
});

onEitherEngine('what did not commit is not told', async (t) => {
  const { db, tell, received, pass } = await telling(t, accept);
  const rolledBack = transact(db, async (trx) => {
    await notify(trx, 'run.finalized', RUN, START.toISOString());
    throw new Error('rolled back');
  });
  await t.rejects(rolledBack, /rolled back/);
  await pass();
  t.strictSame(received, []);
  await tell();
  await pass();
  t.equal(received.length, 1);
});

onEitherEngine('everything except a 2xx is sent again, with the same id and longer waits', async (t) => {
  const { clock, tell, stored, received, pass } = await telling(t, inTurn(301, 400, 401, 404, 500, 503, 200));
  const id = await tell();
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 7; attempt += 1) {
    await pass();
    const next = (await stored())[0]?.next_attempt_at;
    if (next == null) break;
    waits.push(Date.parse(next) - clock().getTime());
    clock.advance(waits.at(-1) as number);
  }
  t.strictSame(new Set(received.map(({ headers }) => headers['webhook-id'])), new Set([id]));
  t.equal(received.length, 7, 'a redirect is not followed');
  t.strictSame(
    waits.map((ms) => Math.ceil(ms / 1_000)),
    [2, 4, 8, 16, 32, 64],
  );
  t.match(await stored(), [{ state: 'delivered', attempts: 7, status: 200, reason: null }]);
});

t.test('backoff and the pause after failures end at an hour and at a minute', async (t) => {
  const lasting = (attempt: number) => backoffMs(attempt, () => 0.999_999) / 1_000;
  t.strictSame([1, 2, 11, 12, 90].map(lasting).map(Math.ceil), [2, 4, 2_048, 3_600, 3_600]);
  t.equal(
    backoffMs(90, () => 0),
    HOUR_MS / 2,
  );
  t.strictSame([1, 2, 6, 7, 1_000].map(pauseMs), [1_000, 2_000, 32_000, 60_000, 60_000]);
});

onEitherEngine('a response is bounded and ignored: HTML, an endless body, and a cut one', async (t) => {
  const responses: Answer[] = [
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>maintenance</html>'),
    (response) => {
      response.writeHead(200);
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
      };
      response.on('drain', write).on('error', () => {});
      write();
    },
    (response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy());
    },
  ];
  const { tell, stored, pass } = await telling(t, (response, request, index) =>
    responses[index]?.(response, request, index),
  );
  for (const run_id of ['r-1', 'r-2', 'r-3']) {
    await tell({ run_id });
    await pass();
  }
  t.strictSame(
    (await stored()).map(({ state }) => state),
    ['delivered', 'delivered', 'delivered'],
  );
});

t.test('a receiver that hangs or refuses connections ends an attempt with a reason', async (t) => {
  const hanging = await stubService(t, () => {});
  const timeout = (ms: number) => {
    t.ok(ms <= 15_000, 'attempts are limited');
    return AbortSignal.timeout(1);
  };
  const attempt = (url: string, limit: (ms: number) => AbortSignal) => {
    const receiver = createReceiver(notifyConfig(url), '9.9.9', { ...createTransport(), timeout: limit });
    return receiver.post('id', '{}', START, new AbortController().signal);
  };
  t.match(await attempt(hanging.url, timeout), { delivered: false, status: null, reason: /TIMEOUT/ });
  const refused = await attempt('http://127.0.0.1:1', () => AbortSignal.timeout(60_000));
  t.match(refused, { delivered: false, status: null, reason: /ECONNREFUSED|ENETUNREACH/ });
});

onEitherEngine('a subject is told in order, and a failing one delays no other', async (t) => {
  let isUp = false;
  const { clock, tell, received, pass } = await telling(t, (response, { body }) =>
    json(response, isUp || JSON.parse(body).data.run_id === 'r-2' ? 200 : 500),
  );
  await tell();
  await tell({ pay_date: '2026-07-31' });
  await tell({ run_id: 'r-2' });
  await pass();
  t.strictSame(runsOf(received), ['r-1', 'r-2']);
  isUp = true;
  clock.advance(2_000);
  await pass();
  await pass();
  const dates = received.map(({ body }) => JSON.parse(body).data.pay_date);
  t.strictSame(dates.slice(2), ['2026-07-17', '2026-07-31'], 'the second follows the delivered first');
});

onEitherEngine('after 72 hours it fails, and the next of its subject has all of the time', async (t) => {
  const { clock, tell, stored, pass, ended } = await telling(t, inTurn(500));
  await tell();
  clock.advance(HOUR_MS);
  await tell({ pay_date: '2026-07-31' });
  await pass();
  const failedAt = clock().getTime() + RETRIED_FOR_MS;
  while (clock().getTime() < failedAt + HOUR_MS) {
    clock.advance(HOUR_MS);
    await pass();
  }
  t.equal(RETRIED_FOR_MS, 72 * HOUR_MS);
  t.match(await stored(), [
    { state: 'failed', status: 500, next_attempt_at: null, reason: 'the receiver responded with 500' },
    { state: 'pending', attempts: 1 },
  ]);
  t.strictSame(new Set(ended), new Set(['retried', 'failed']));
});

onEitherEngine('a receiver that is down gets one attempt at a time, with growing pauses', async (t) => {
  let status = 503;
  const { clock, tell, received, pass } = await telling(t, (response) => json(response, status));
  for (let run = 0; run < 20; run += 1) await tell({ run_id: `r-${run}` });
  const waits: number[] = [];
  for (let batch = 0; batch < 4; batch += 1) waits.push(await pass());
  t.strictSame(waits, [1_000, 2_000, 4_000, 8_000]);
  t.equal(received.length, 8 + 3);
  status = 200;
  t.equal(await pass(), 0, 'a delivery ends the pause');
  clock.advance(HOUR_MS);
  while ((await pass()) === 0);
  t.equal(new Set(runsOf(received)).size, 20);
});

onEitherEngine('at most so many wait: the oldest fail and are counted', async (t) => {
  const { tell, stored, pass, ended } = await telling(t, inTurn(500), { pendingMax: 3 });
  for (const run_id of ['r-1', 'r-1', 'r-2', 'r-3', 'r-4']) await tell({ run_id });
  await pass();
  t.strictSame(
    (await stored()).map(({ state, attempts }) => [state, attempts]),
    [
      ['failed', 0],
      ['failed', 0],
      ['pending', 1],
      ['pending', 1],
      ['pending', 1],
    ],
  );
  t.strictSame(ended.filter((how) => how === 'dropped').length, 2);
});

onEitherEngine(
  'the newest position of the ledger is one notification, replaced until it is sent',
  async (t) => {
    let status = 503;
    const { db, clock, received, pass, stored } = await telling(t, (response) => json(response, status));
    const tellAt = (position: number) => tellPosition(db, position, clock().toISOString());
    await tellAt(0);
    t.strictSame(await stored(), [], 'an empty ledger is not told');
    await tellAt(3);
    await tellAt(3);
    await pass();
    await tellAt(8);
    t.match(await stored(), [{ type: 'ledger.changed', state: 'pending', data: { position: 8 } }]);
    status = 204;
    clock.advance(HOUR_MS);
    await pass();
    await tellAt(8);
    t.equal(await pass(), 1_000, 'what was told is not told again');
    await tellAt(9);
    await pass();
    const positions = received.map(({ body }) => JSON.parse(body).data.position);
    t.strictSame(positions, [3, 8, 9]);
    const ids = received.map(({ headers }) => headers['webhook-id']);
    t.equal(new Set(ids).size, 3, 'another position has another id');
  },
);

onPostgres('one of two sidecars sends, and the other one after its lease', async (t) => {
  const { db, clock, config, tell, received, pass } = await telling(t, accept);
  const other = notificationLoop(db, config, { sharedNow: async () => clock() });
  await pass();
  await tell();
  await other.pass();
  t.equal(received.length, 0, 'the first one holds the lease');
  clock.advance(60_000);
  await other.pass();
  t.equal(received.length, 1, 'the first one is gone');
});
