/** A long outage of the service, and its end with a large backlog. */

import { transact } from '../../src/database/transaction.ts';
import { claim } from '../../src/outbox/claims.ts';
import { freeSlots, fullLimit, limitAfter } from '../../src/outbox/concurrency-limiter.ts';
import { finish } from '../../src/outbox/finish.ts';
import type { AttemptOutcome } from '../../src/outbox/retry.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';
import { encryptor, owe, request, sendAll, sendLoop, setClock } from './parts.ts';
import { json, stubService } from './stub-service.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const employees = 40;
const each = 3;

onEitherEngine(
  'a service that is down for a day is probed about once a minute and recovers without a retry storm',
  async (t) => {
    const { db } = await scratch(t);
    const clock = setClock();
    let isDown = true;
    let now = 0;
    let most = 0;
    const { url, received } = await stubService(t, (response) => {
      now += 1;
      most = Math.max(most, now);
      setImmediate(() => {
        now -= 1;
        json(response, isDown ? 503 : 200);
      });
    });
    for (let n = 0; n < employees * each; n += 1) await owe(db, `r-${n}`, `e-${n % employees}`);
    const loop = sendLoop(t, db, url, clock);
    for (let waited = 0; waited < HOUR_MS; waited += 5 * SECOND_MS) {
      await loop.runOnce();
      clock.advance(5 * SECOND_MS);
    }
    t.ok(received.length > 55 && received.length < 80, `probed ${received.length} times in an hour`);
    clock.advance(23 * HOUR_MS);
    await loop.runOnce();
    clock.advance(60 * SECOND_MS);

    const asked = received.length;
    isDown = false;
    most = 0;
    const rounds: number[] = [];
    for (let waited = 0; waited < HOUR_MS; waited += SECOND_MS) {
      const { delivered } = await loop.runOnce();
      if (delivered > 0) rounds.push(delivered);
      clock.advance(SECOND_MS);
    }
    t.strictSame(rounds.slice(0, 4), [1, 2, 4, 8], 'one probe, then twice as many each round');
    t.equal(most, 8);
    const left = await db.selectFrom('outbox').select('seq').where('state', '<>', 'delivered').execute();
    t.strictSame(left, [], 'nothing is lost');
    const sent = received
      .slice(asked)
      .map(({ headers }) => Number(String(headers['idempotency-key']).slice(2)));
    t.equal(sent.length, employees * each, 'nothing is sent twice once it is back');
    for (let employee = 0; employee < employees; employee += 1) {
      t.strictSame(
        sent.filter((n) => n % employees === employee),
        [employee, employee + employees, employee + 2 * employees],
      );
    }
  },
);

onEitherEngine('requests that failed together are not retried together', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  const count = 400;
  const unwell: AttemptOutcome = {
    responded: true,
    status: 503,
    content: 'empty',
    retryAfterMs: null,
    response: Buffer.alloc(0),
  };
  for (let n = 0; n < count; n += 1) await owe(db, `r-${n}`, `e-${n}`);
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const by = { owner: 'o', senders: {}, encryptor, random };
  await transact(db, (trx) => trx.updateTable('outbox').set({ attempts: 9 }).execute());
  const wish = {
    owner: 'o',
    limit: count,
    uploads: count,
    inFlight: new Set<string>(),
    takesOver: true,
    senders: {},
  };
  await transact(db, async (trx) => {
    const { claims } = await claim(trx, wish, clock());
    const ends = claims.map((claimed) => ({
      claim: claimed,
      kind: 'attempt' as const,
      outcome: unwell,
      ms: 0,
    }));
    await finish(trx, by, ends, clock());
  });
  const due = await db.selectFrom('outbox').select('due_at').execute();
  const minutes = Map.groupBy(due, ({ due_at }) =>
    Math.floor((Date.parse(due_at) - clock().getTime()) / 60_000),
  );
  t.equal(minutes.size, 15, 'spread over all fifteen minutes');
  for (const [minute, those] of minutes) t.ok(those.length < count / 8, `minute ${minute}: ${those.length}`);
});

onEitherEngine("one employee's change that always fails barely delays the others", async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  const { url } = await stubService(t, (response, { body }) =>
    json(response, body.includes('poison') ? 500 : 200),
  );
  await owe(db, 'poison', 'e-0');
  const loop = sendLoop(t, db, url, clock);
  for (let waited = 0; waited < 4 * HOUR_MS; waited += 60 * SECOND_MS) {
    await loop.runOnce();
    clock.advance(60 * SECOND_MS);
  }
  t.ok((await request(db, 'poison')).attempts > 15);
  for (let n = 0; n < 100; n += 1) await owe(db, `r-${n}`, `e-${n + 1}`, 'demographic', clock());
  let seconds = 0;
  const isLeft = async () =>
    (await db.selectFrom('outbox').select('seq').where('state', '=', 'pending').execute()).length > 1;
  for (; await isLeft(); seconds += 1) {
    await loop.runOnce();
    clock.advance(SECOND_MS);
  }
  t.ok(seconds < 90, `all were sent after ${seconds} s`);
});

onEitherEngine('a 429 for one request does not block the others', async (t) => {
  const { db } = await scratch(t);
  const { url } = await stubService(t, (response, { body }) =>
    json(response, body.includes('r-0') ? 429 : 200, {}, { 'retry-after': '600' }),
  );
  for (let n = 0; n < 20; n += 1) await owe(db, `r-${n}`, `e-${n}`);
  const clock = setClock();
  await sendAll(sendLoop(t, db, url, clock));
  const left = await db.selectFrom('outbox').select('request_id').where('state', '<>', 'delivered').execute();
  t.strictSame(left, [{ request_id: 'r-0' }]);
  t.equal(Date.parse((await request(db, 'r-0')).due_at) - clock().getTime(), 600_000);
});

onEitherEngine('a pause ends on time despite other activity', async (t) => {
  let limit = fullLimit(8);
  for (let n = 0; n < 8; n += 1) limit = limitAfter(limit, 'retry', { most: 8, at: 5, random: () => 1 });
  t.strictSame(
    [freeSlots(limit, [], 1_004), freeSlots(limit, [], 1_005), freeSlots(limit, [0], 1_005)],
    [0, 1, 0],
  );
});
