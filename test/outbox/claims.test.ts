import { sql } from 'kysely';
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { pauseSending, probeFailed, reserveProbe } from '../../src/outbox/circuit-breaker.ts';
import { claim, heartbeat } from '../../src/outbox/claims.ts';
import { type End, finish } from '../../src/outbox/finish.ts';
import { enqueue } from '../../src/outbox/queue.ts';
import { type AttemptOutcome, RETRY_AFTER_MAX_MS } from '../../src/outbox/retry.ts';
import type { Claim, Senders } from '../../src/outbox/sender.ts';
import { open, scratch } from '../database/scratch.ts';
import { onEitherEngine, onSqlite } from '../support/engine.ts';
import { claimAs, encryptor, owe, PATIENT, request, sendAll, sending, sendLoop, setClock } from './parts.ts';
import { type Answer, json } from './stub-service.ts';

const DAY_MS = 86_400_000;
const ok: AttemptOutcome = {
  responded: true,
  status: 200,
  content: 'empty',
  retryAfterMs: null,
  response: Buffer.alloc(0),
};

async function take(db: Db, owner: string, now: Date, limit = 8): Promise<Claim[]> {
  return (await transact(db, (trx) => claim(trx, claimAs(owner, { limit }), now))).claims;
}

/** A database with a request, and a clock. */
async function owing(t: Test) {
  const { db } = await scratch(t);
  await owe(db, 'r-1', 'e-1');
  return { db, clock: setClock() };
}

const test = onEitherEngine.with(owing);

const LOST = { kind: 'lost' };

/** Returns the result of finishing one claim as `owner`. */
async function end(db: Db, owner: string, one: End, now: Date) {
  const by = { owner, senders: {}, encryptor, random: () => 0 };
  return (await transact(db, (trx) => finish(trx, by, [one], now))).get(one);
}

test('a claim is taken over when its lease expired, not before', async (t, { db, clock }) => {
  t.equal((await take(db, 'first', clock())).length, 1);
  clock.advance(29_999);
  t.equal((await take(db, 'second', clock())).length, 0);
  clock.advance(1);
  t.match(await take(db, 'second', clock()), [{ requestId: 'r-1', attempt: 2 }]);
  t.match(await request(db, 'r-1'), { claimed_by: 'second', unknown_outcome: 1 });
  const attempts = await db.selectFrom('delivery_attempts').selectAll().orderBy('attempt').execute();
  t.match(attempts, [
    { attempt: 1, reason: /stopped during/ },
    { attempt: 2, finished_at: null },
  ]);
});

test('a heartbeat keeps the claim', async (t, { db, clock }) => {
  const [claimed] = await take(db, 'first', clock());
  clock.advance(20_000);
  t.equal(await transact(db, (trx) => heartbeat(trx, 'first', claimed!, clock())), true);
  clock.advance(20_000);
  t.equal((await take(db, 'second', clock())).length, 0);
});

test('the heartbeat of a slow probe does not prevent other probes', async (t, { db, clock }) => {
  await owe(db, 'r-2', 'e-2');
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', clock()));
  clock.advance(1_000);
  const [probe] = await take(db, 'first', clock());
  clock.advance(20_000);
  t.equal(await transact(db, (trx) => heartbeat(trx, 'first', probe!, clock())), true);
  t.strictSame(await take(db, 'second', clock()), []);
  clock.advance(10_000);
  t.match(await take(db, 'second', clock()), [{ requestId: 'r-2', probe: true }]);
});

test('a stale owner cannot finish, delay or renew a claim', async (t, { db, clock }) => {
  const [stale] = await take(db, 'first', clock());
  clock.advance(30_000);
  const [taken] = await take(db, 'second', clock());
  const before = await request(db, 'r-1');
  const decide = async () => ({ outcome: 'canceled', reason: 'x' }) as const;
  t.strictSame(await end(db, 'first', { claim: stale!, kind: 'attempt', outcome: ok, ms: 0 }, clock()), LOST);
  t.strictSame(await end(db, 'first', { claim: stale!, kind: 'decision', decide }, clock()), LOST);
  t.equal(await transact(db, (trx) => heartbeat(trx, 'first', stale!, clock())), false);
  t.strictSame(await request(db, 'r-1'), before);
  t.match(await end(db, 'second', { claim: taken!, kind: 'attempt', outcome: ok, ms: 0 }, clock()), {
    how: 'delivered',
  });
});

test('a stale owner cannot finish a claim that was only released', async (t, { db, clock }) => {
  const [stale] = await take(db, 'first', clock());
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', clock()));
  clock.advance(30_000);
  await transact(db, (trx) => reserveProbe(trx, new Date(clock().getTime() + 30_000)));
  t.strictSame(await take(db, 'second', clock()), []);
  t.match(await request(db, 'r-1'), { state: 'pending', attempts: 1 });
  t.strictSame(await end(db, 'first', { claim: stale!, kind: 'attempt', outcome: ok, ms: 0 }, clock()), LOST);
  t.equal(await transact(db, (trx) => heartbeat(trx, 'first', stale!, clock())), false);
});

test('a request that its owner claims again has no use for the first attempt', async (t, { db, clock }) => {
  const [first] = await take(db, 'same', clock());
  clock.advance(30_000);
  await take(db, 'same', clock());
  const ended = await end(db, 'same', { claim: first!, kind: 'attempt', outcome: ok, ms: 0 }, clock());
  t.strictSame(ended, LOST);
  t.equal(await transact(db, (trx) => heartbeat(trx, 'same', first!, clock())), false);
});

onEitherEngine('an older clock reading does not make a newer write a clock jump', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  const before = clock();
  clock.advance(10_000);
  for (const id of ['claimed', 'put off']) await owe(db, id, id);
  const dueAt = new Date(clock().getTime() + RETRY_AFTER_MAX_MS).toISOString();
  await transact(db, (trx) =>
    trx.updateTable('outbox').set({ due_at: dueAt }).where('request_id', '=', 'put off').execute(),
  );
  t.match(await take(db, 'first', clock()), [{ requestId: 'claimed' }]);
  t.strictSame(await take(db, 'second', before), []);
  t.match(await request(db, 'claimed'), { state: 'sending', claimed_by: 'first', attempts: 1 });

  await owe(db, 'while paused', 'while paused');
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', clock()));
  for (let probe = 0; probe < 10; probe += 1) await transact(db, (trx) => probeFailed(trx, clock()));
  t.strictSame(await take(db, 'second', before), []);
});

onEitherEngine('claims are oldest first and at most as many as requested', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  for (const id of ['c', 'a', 'b']) await owe(db, id, id, 'demographic', clock());
  t.strictSame(
    (await take(db, 'one', clock(), 2)).map(({ requestId }) => requestId),
    ['c', 'a'],
  );
});

onEitherEngine('a clock set back by two days leaves nothing stuck', async (t) => {
  const { db, clock, url, received, loop } = await sending(t, (response, _, index) =>
    json(response, index === 0 ? 503 : 200),
  );
  await owe(db, 'retried', 'e-1');
  await sendAll(loop);
  await owe(db, 'abandoned', 'e-2');
  await take(db, 'gone', clock());
  clock.advance(-2 * DAY_MS);
  await sendAll(sendLoop(t, db, url, clock));
  t.match(await request(db, 'retried'), { state: 'delivered' }, 'its due time was too far in the future');
  t.match(await request(db, 'abandoned'), { state: 'delivered' }, 'its lease was too far in the future');
  t.equal(received.length, 3);
});

onEitherEngine('a clock set ahead by two days sends nothing twice at once', async (t) => {
  const { db, clock, received, loop } = await sending(t, async (response) => {
    clock.advance(2 * DAY_MS);
    t.match(await loop.runOnce(), { delivered: 0, lost: 0 }, 'the loop does not claim its own request again');
    json(response, 200);
  });
  await owe(db, 'r-1', 'e-1');
  t.equal((await loop.runOnce()).delivered, 1);
  t.equal(received.length, 1);
  t.match(await request(db, 'r-1'), { state: 'delivered', attempts: 1 });
});

onEitherEngine('a loop whose claim was taken over records nothing', async (t) => {
  const { db, databaseUrl, clock, url, loop } = await sending(t, async (response, _, index) => {
    if (index === 0) {
      clock.advance(30_000);
      t.equal((await sendLoop(t, open(t, databaseUrl), url, clock).runOnce()).rejected, 1);
      json(response, 200);
    } else json(response, 422, { error: 'known already' });
  });
  await owe(db, 'r-1', 'e-1');
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
  const sent = received.map(({ headers }) => String(headers['idempotency-key']));
  t.equal(sent.length, 60);
  t.equal(new Set(sent).size, 60);
  for (let employee = 0; employee < 20; employee += 1) {
    const own = sent.map((id) => Number(id.slice(2))).filter((n) => n % 20 === employee);
    t.strictSame(own, [employee, employee + 20, employee + 40]);
  }
});

onEitherEngine('a stop waits for requests in flight and starts no other request', async (t) => {
  const stop = new AbortController();
  const { db, received, loop } = await sending(t, (response) => {
    stop.abort();
    setImmediate(() => json(response, 200));
  });
  await owe(db, 'r-1', 'e-1');
  await owe(db, 'r-2', 'e-1');
  await loop.run(stop.signal);
  t.equal(received.length, 1);
  t.match(
    [await request(db, 'r-1'), await request(db, 'r-2')],
    [{ state: 'delivered' }, { state: 'pending' }],
  );
});

onEitherEngine('a retried request of a coalescing kind absorbs the newer pending one', async (t) => {
  const merged: [string, string][] = [];
  const senders: Senders = {
    census: {
      prepare: async ({ requestId }) => ({
        kind: 'post' as const,
        path: ['employer', 'a', 'census'],
        idempotencyKey: requestId,
        body: Buffer.from('{}'),
        timeouts: PATIENT,
      }),
      merged: async (_, kept, canceled) => {
        merged.push([kept, canceled]);
      },
    },
  };
  const census = (requestId: string) =>
    transact(db, (trx) =>
      enqueue(
        trx,
        [{ requestId, kind: 'census', subject_type: 'employer', subject_id: 'a', encrypted: null }],
        clock().toISOString(),
      ),
    );
  const answer: Answer = async (response, _, index) => {
    if (index === 0) await census('newer');
    json(response, index === 0 ? 503 : 200);
  };
  const { db, clock, loop } = await sending(t, answer, { senders });
  await census('older');
  await t.rejects(census('second pending'), 'one pending request per subject');
  t.equal((await loop.runOnce()).retry, 1);
  t.strictSame(merged, [['older', 'newer']]);
  t.match(await request(db, 'newer'), { state: 'canceled', reason: /merged into request older/ });
  t.match(await request(db, 'older'), { state: 'pending', attempts: 1, is_next: 1 });
  clock.advance(60_000);
  t.equal((await loop.runOnce()).delivered, 1);
});

// Each engine has its own plan output; test/faults/postgres-several-sending.test.ts checks PostgreSQL's.
onSqlite('claiming reads a constant number of rows at any backlog', async (t) => {
  const { db } = await scratch(t);
  await owe(db, 'r-1', 'e-1');
  const plan = async (query: ReturnType<typeof sql<{ detail: string }>>) =>
    (await query.execute(db)).rows.map(({ detail }) => detail).join('; ');
  const due = sql<{ detail: string }>`explain query plan select request_id from outbox
    where state = 'pending' and is_next = 1 and due_at <= ${'2026'} order by due_at, seq limit ${8}`;
  t.match(await plan(due), /USING (COVERING )?INDEX outbox_claimable/);
  t.notMatch(await plan(due), /TEMP B-TREE/);
  const next = sql<{ detail: string }>`explain query plan select seq from outbox
    where subject_type = ${'employee'} and subject_id >= ${'x'} and finished_at is null
    order by subject_id, seq limit 1`;
  t.match(await plan(next), /INDEX outbox_unfinished/);
});
