import type { ServerResponse } from 'node:http';
import type { Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { pauseSending, readCircuitBreaker } from '../../src/outbox/circuit-breaker.ts';
import { COUNTED_MS, IN_FLIGHT_MAX } from '../../src/outbox/concurrency-limiter.ts';
import type { Counts } from '../../src/outbox/send-loop.ts';
import type { Sender } from '../../src/outbox/sender.ts';
import { onEitherEngine } from '../support/engine.ts';
import { encryptor, idsOf, owe, request, sending } from './parts.ts';
import { type Answer, json } from './stub-service.ts';

const SECOND_MS = 1_000;

/** Uploads with its own body and a long response time. */
const census: Sender = {
  prepare: async ({ requestId, subject_id }) => ({
    kind: 'post' as const,
    path: ['employer', subject_id, 'census'],
    idempotencyKey: requestId,
    body: Buffer.from(`{"request":"${requestId}"}`),
    timeouts: { idleMs: 300_000, totalMs: 900_000 },
  }),
};

/** A send loop and a service that hangs on requests whose id starts with `hang`. */
async function setUp(t: Test, statusOf: (requestId: string) => number = () => 200) {
  const hung: ServerResponse[] = [];
  const sends: Promise<Counts>[] = [];
  let isReleased = false;
  let reached = () => {};
  const answer: Answer = (response, { headers }) => {
    const requestId = String(headers['idempotency-key']);
    if (isReleased || !requestId.startsWith('hang')) return json(response, statusOf(requestId));
    hung.push(response);
    reached();
  };
  const senders = { ...createChangeSenders(encryptor), census };
  const { db, clock, received, loop } = await sending(t, answer, { senders });
  return {
    db,
    clock,
    loop,
    hung,
    sent: () => idsOf(received),
    /** Starts attempts without waiting for them, until this many hang at the service. */
    async hangs(count: number) {
      const all = Promise.withResolvers<void>();
      reached = () => hung.length === count && all.resolve();
      sends.push(loop.runOnce());
      await all.promise;
    },
    /** Lets all hanging requests succeed, now and later. */
    async release() {
      isReleased = true;
      for (const response of hung) json(response, 200);
      await Promise.all(sends);
    },
  };
}

onEitherEngine('one hung upload and three 503s delay no other subject', async (t) => {
  let trouble = 3;
  const { db, loop, hangs, release } = await setUp(t, () => (trouble-- > 0 ? 503 : 200));
  await owe(db, 'hang-1', 'acme', 'census');
  await hangs(1);
  for (const id of ['r-1', 'r-2', 'r-3']) await owe(db, id, id);
  t.equal((await loop.runOnce()).retry, 3, 'one attempt at a time is allowed from now on');
  await owe(db, 'r-4', 'r-4');
  t.equal((await loop.runOnce()).delivered, 1, 'a change is sent immediately');
  t.match(await request(db, 'hang-1'), { state: 'sending' });
  await release();
  t.match(await request(db, 'hang-1'), { state: 'delivered' });
});

for (const kind of ['census', 'demographic'] as const) {
  onEitherEngine(`with one slot left, a hung ${kind} request holds it for 30 s`, async (t) => {
    let trouble = 3;
    const { db, clock, loop, hangs, release } = await setUp(t, () => (trouble-- > 0 ? 503 : 200));
    for (const id of ['r-1', 'r-2', 'r-3']) await owe(db, id, id, kind);
    t.equal((await loop.runOnce()).retry, 3);
    await owe(db, 'hang-1', 'acme', kind);
    await hangs(1);
    await owe(db, 'r-4', 'r-4', kind, clock());
    clock.advance(COUNTED_MS - 1);
    const before = await loop.runOnce();
    t.strictSame([before.delivered, before.retry], [0, 0]);
    clock.advance(1);
    t.equal((await loop.runOnce()).delivered, 1);
    await release();
  });
}

onEitherEngine('any number of hung uploads delay no change, and at most 32 are in flight', async (t) => {
  const { db, clock, loop, hung, hangs, release } = await setUp(t);
  for (let n = 0; n < IN_FLIGHT_MAX + 8; n += 1) await owe(db, `hang-${n}`, `employer-${n}`, 'census');
  for (let inFlight = 8; inFlight <= IN_FLIGHT_MAX; inFlight += 8) {
    await hangs(inFlight);
    await owe(db, `r-${inFlight}`, `e-${inFlight}`, 'demographic', clock());
    t.equal((await loop.runOnce()).delivered, 1, `a change is sent while ${inFlight} uploads hang`);
    clock.advance(COUNTED_MS);
  }
  await loop.runOnce();
  t.equal(hung.length, IN_FLIGHT_MAX);
  await release();
  t.equal((await loop.runOnce()).delivered + IN_FLIGHT_MAX, IN_FLIGHT_MAX + 8);
});

onEitherEngine('a probe that hangs lets another request probe after 30 s', async (t) => {
  const { db, clock, loop, sent, hangs, release } = await setUp(t);
  await owe(db, 'hang-1', 'acme', 'census');
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', clock()));
  clock.advance(SECOND_MS);
  await hangs(1);
  await owe(db, 'r-1', 'e-1', 'demographic', clock());
  clock.advance(COUNTED_MS - 1);
  await loop.runOnce();
  t.strictSame(sent(), ['hang-1']);
  clock.advance(1);
  t.equal((await loop.runOnce()).delivered, 1);
  t.match(await readCircuitBreaker(db), { state: 'active' });
  await release();
});
