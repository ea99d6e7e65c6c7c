import type { ServerResponse } from 'node:http';
import type { Test } from 'tap';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { COUNTED_MS, IN_FLIGHT_MAX } from '../../src/outbox/concurrency-limiter.ts';
import type { Counts } from '../../src/outbox/send-loop.ts';
import type { Sender } from '../../src/outbox/sender.ts';
import { onEitherEngine } from '../support/engine.ts';
import { encryptor, owe, request, sending } from './parts.ts';
import { type Answer, json } from './stub-service.ts';

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
  const { db, clock, loop } = await sending(t, answer, { senders });
  return {
    db,
    clock,
    loop,
    hung,
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
