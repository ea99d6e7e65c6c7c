import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { pauseSending, probeFailed, reserveProbe } from '../../src/outbox/circuit-breaker.ts';
import { claim, heartbeat } from '../../src/outbox/claims.ts';
import { type End, finish } from '../../src/outbox/finish.ts';
import { retryManually } from '../../src/outbox/manual.ts';
import { employerSubject, enqueue } from '../../src/outbox/queue.ts';
import { type AttemptOutcome, RETRY_AFTER_MAX_MS } from '../../src/outbox/retry.ts';
import type { Claim, Sender } from '../../src/outbox/sender.ts';
import { open, scratch } from '../database/scratch.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import {
  claimAs,
  encryptor,
  idsOf,
  owe,
  owing,
  PATIENT,
  request,
  sendAll,
  sending,
  sendLoop,
  setClock,
} from './parts.ts';
import { type Answer, inTurn, json } from './stub-service.ts';

const DAY_MS = 86_400_000;
const ok: AttemptOutcome = {
  ...{ responded: true, status: 200, content: 'empty', retryAfterMs: null, response: Buffer.alloc(0) },
};
const LOST = { kind: 'lost' };

/** Returns the claims as a tuple whose first element a test may use. */
async function take(db: Db, owner: string, now: Date, limit = 8): Promise<[Claim, ...Claim[]]> {
  const options = claimAs(owner, { limit });
  return (await transact(db, (trx) => claim(trx, options, now))).claims as [Claim, ...Claim[]];
}

/** A database with a request, a clock, and what an owner does to claims. */
const test = onEitherEngine.with(async (t) => {
  const { db } = await scratch(t);
  await owe(db, 'r-1', 'e-1');
  const clock = setClock();
  const finishAs = async (owner: string, end: End) => {
    const by = { owner, senders: {}, encryptor, random: () => 0 };
    return (await transact(db, (trx) => finish(trx, by, [end], clock()))).get(end);
  };
  return {
    ...{ db, clock },
    take: (owner: string) => take(db, owner, clock()),
    renew: (owner: string, claimed: Claim) => transact(db, (trx) => heartbeat(trx, owner, claimed, clock())),
    pause: () => transact(db, (trx) => pauseSending(trx, 'the service responded with 401', clock())),
    deliver: (owner: string, claimed: Claim) =>
      finishAs(owner, { claim: claimed, kind: 'attempt', outcome: ok, ms: 0 }),
    cancel: (owner: string, claimed: Claim) => {
      const decide = async () => ({ outcome: 'canceled', reason: 'x' }) as const;
      return finishAs(owner, { claim: claimed, kind: 'decision', decide });
    },
  };
});

test('a claim is taken over when its lease expired, not before', async (t, { db, clock, take }) => {
  t.equal((await take('first')).length, 1);
  clock.advance(29_999);
  t.equal((await take('second')).length, 0);
  clock.advance(1);
  t.match(await take('second'), [{ requestId: 'r-1', attempt: 2 }]);
  t.match(await request(db, 'r-1'), { claimed_by: 'second', unknown_outcome: 1 });
  const attempts = await db.selectFrom('delivery_attempts').selectAll().orderBy('attempt').execute();
  t.match(attempts, [{ reason: /stopped during/ }, { attempt: 2, finished_at: null }]);
});

test('a heartbeat keeps the claim', async (t, { clock, take, renew }) => {
  const [claimed] = await take('first');
  clock.advance(20_000);
  t.equal(await renew('first', claimed), true);
  clock.advance(20_000);
  t.equal((await take('second')).length, 0);
});

test('the heartbeat of a slow probe does not prevent other probes', async (t, world) => {
  const { db, clock, take, renew, pause } = world;
  await owe(db, 'r-2', 'e-2');
  await pause();
  clock.advance(1_000);
  const [probe] = await take('first');
  clock.advance(20_000);
  t.equal(await renew('first', probe), true);
  t.strictSame(await take('second'), []);
  clock.advance(10_000);
  t.match(await take('second'), [{ requestId: 'r-2', probe: true }]);
});

test('a stale owner cannot finish, delay or renew a claim', async (t, world) => {
  const { db, clock, take, renew, deliver, cancel } = world;
  const [stale] = await take('first');
  clock.advance(30_000);
  const [taken] = await take('second');
  const before = await request(db, 'r-1');
  t.strictSame([await deliver('first', stale), await cancel('first', stale)], [LOST, LOST]);
  t.equal(await renew('first', stale), false);
  t.strictSame(await request(db, 'r-1'), before);
  t.match(await deliver('second', taken), { how: 'delivered' });
});

test('a stale owner cannot finish a claim that was only released', async (t, world) => {
  const { db, clock, take, renew, pause, deliver } = world;
  const [stale] = await take('first');
  await pause();
  clock.advance(30_000);
  await transact(db, (trx) => reserveProbe(trx, new Date(clock().getTime() + 30_000)));
  t.strictSame(await take('second'), []);
  t.match(await request(db, 'r-1'), { state: 'pending', attempts: 1 });
  t.strictSame([await deliver('first', stale), await renew('first', stale)], [LOST, false]);
});

test('a request that its owner claims again has no use for the first attempt', async (t, world) => {
  const { clock, take, renew, deliver } = world;
  const [first] = await take('same');
  clock.advance(30_000);
  await take('same');
  t.strictSame([await deliver('same', first), await renew('same', first)], [LOST, false]);
});

test('a retried change goes first when the claim of a newer one expires', async (t, { db, clock, take }) => {
  const rejected = { state: 'rejected', is_next: 0, finished_at: clock().toISOString() } as const;
  await transact(db, (trx) => trx.updateTable('outbox').set(rejected).execute());
  await owe(db, 'r-2', 'e-1');
  t.match(await take('first'), [{ requestId: 'r-2' }]);
  await transact(db, (trx) => retryManually(trx, 'r-1', { force: true, ...acting(clock()) }));
  clock.advance(30_000);
  t.match(await take('second'), [{ requestId: 'r-1' }]);
});

test('an older clock reading does not make a newer write a clock jump', async (t, world) => {
  const { db, clock, pause } = world;
  const before = clock();
  clock.advance(10_000);
  await owe(db, 'put off', 'put off');
  const due_at = new Date(clock().getTime() + RETRY_AFTER_MAX_MS).toISOString();
  const putOff = (trx: Trx) => trx.updateTable('outbox').set({ due_at }).where('request_id', '=', 'put off');
  await transact(db, (trx) => putOff(trx).execute());
  t.match(await world.take('first'), [{ requestId: 'r-1' }]);
  t.strictSame(await take(db, 'second', before), []);
  t.match(await request(db, 'r-1'), { state: 'sending', claimed_by: 'first', attempts: 1 });

  await owe(db, 'while paused', 'while paused');
  await pause();
  for (let probe = 0; probe < 10; probe += 1) await transact(db, (trx) => probeFailed(trx, clock()));
  t.strictSame(await take(db, 'second', before), []);
});

onEitherEngine('claims are oldest first and at most as many as requested', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  for (const id of ['c', 'a', 'b']) await owe(db, id, id, 'demographic', clock());
  t.match(await take(db, 'one', clock(), 2), [{ requestId: 'c' }, { requestId: 'a' }]);
});

onEitherEngine('a clock set back by two days leaves nothing stuck', async (t) => {
  const { db, clock, url, received, loop } = await owing(t, inTurn(503, 200));
  await sendAll(loop);
  await owe(db, 'abandoned', 'e-2');
  await take(db, 'gone', clock());
  clock.advance(-2 * DAY_MS);
  await sendAll(sendLoop(t, db, url, clock));
  t.match(await request(db, 'r-1'), { state: 'delivered' }, 'its due time was too far in the future');
  t.match(await request(db, 'abandoned'), { state: 'delivered' }, 'its lease was too far in the future');
  t.equal(received.length, 3);
});

onEitherEngine('a clock set ahead by two days sends nothing twice at once', async (t) => {
  const { db, clock, received, loop } = await owing(t, async (response) => {
    clock.advance(2 * DAY_MS);
    t.match(await loop.runOnce(), { delivered: 0, lost: 0 }, 'the loop does not claim its own request again');
    json(response, 200);
  });
  t.equal((await loop.runOnce()).delivered, 1);
  t.equal(received.length, 1);
  t.match(await request(db, 'r-1'), { state: 'delivered', attempts: 1 });
});

onEitherEngine('a loop whose claim was taken over records nothing', async (t) => {
  const { db, databaseUrl, clock, url, loop } = await owing(t, async (response, _, index) => {
    if (index === 0) {
      clock.advance(30_000);
      t.equal((await sendLoop(t, open(t, databaseUrl), url, clock).runOnce()).rejected, 1);
      json(response, 200);
    } else json(response, 422, { error: 'known already' });
  });
  t.equal((await loop.runOnce()).lost, 1);
  t.match(await request(db, 'r-1'), { state: 'rejected', may_have_been_applied: 1 });
});

onEitherEngine('two loops on one database send each request once, in order', async (t) => {
  const { db, databaseUrl, clock, url, received, loop } = await sending(t, (response) =>
    setImmediate(() => json(response, 200)),
  );
  for (let n = 0; n < 60; n += 1) await owe(db, `r-${n}`, `e-${n % 20}`);
  const other = sendLoop(t, open(t, databaseUrl), url, clock);
  await Promise.all([loop, other].map(sendAll));
  await sendAll(loop);
  const sent = idsOf(received);
  t.strictSame([sent.length, new Set(sent).size], [60, 60]);
  for (let employee = 0; employee < 20; employee += 1) {
    const own = sent.map((id) => Number(id.slice(2))).filter((n) => n % 20 === employee);
    t.strictSame(own, [employee, employee + 20, employee + 40]);
  }
});

onEitherEngine('a stop waits for requests in flight and starts no other request', async (t) => {
  const stop = new AbortController();
  const { db, received, loop } = await owing(t, (response) => {
    stop.abort();
    setImmediate(() => json(response, 200));
  });
  await owe(db, 'r-2', 'e-1');
  await loop.run(stop.signal);
  t.equal(received.length, 1);
  t.match(await request(db, 'r-1'), { state: 'delivered' });
  t.match(await request(db, 'r-2'), { state: 'pending' });
});

onEitherEngine('a retried request of a coalescing kind absorbs the newer pending one', async (t) => {
  const merged: [string, string][] = [];
  const post = { kind: 'post', path: ['employer', 'a', 'census'], timeouts: PATIENT } as const;
  const census: Sender = {
    prepare: async ({ requestId }) => ({ ...post, idempotencyKey: requestId, body: Buffer.from('{}') }),
    merged: async (_, kept, canceled) => void merged.push([kept, canceled]),
  };
  const oweCensus = (requestId: string) => {
    const wanted = { requestId, kind: 'census', ...employerSubject('a'), encrypted: null } as const;
    return transact(db, (trx) => enqueue(trx, [wanted], clock().toISOString()));
  };
  const answer: Answer = async (response, _, index) => {
    if (index === 0) await oweCensus('newer');
    json(response, index === 0 ? 503 : 200);
  };
  const { db, clock, loop } = await sending(t, answer, { senders: { census } });
  await oweCensus('older');
  await t.rejects(oweCensus('second pending'), 'one pending request per subject');
  t.equal((await loop.runOnce()).retry, 1);
  t.strictSame(merged, [['older', 'newer']]);
  t.match(await request(db, 'newer'), { state: 'canceled', reason: /merged into request older/ });
  t.match(await request(db, 'older'), { state: 'pending', attempts: 1, is_next: 1 });
  clock.advance(60_000);
  t.equal((await loop.runOnce()).delivered, 1);
});
