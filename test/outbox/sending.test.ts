import { transact } from '../../src/database/transaction.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { createAttempt } from '../../src/outbox/attempt.ts';
import { claim } from '../../src/outbox/claims.ts';
import { retryManually } from '../../src/outbox/manual.ts';
import { encryptBody, enqueue, placeOf } from '../../src/outbox/queue.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { openHasher } from '../../src/security/hashing.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine, rawBytes } from '../support/engine.ts';
import {
  claimAs,
  client,
  encryptor,
  idsOf,
  owe,
  owing,
  request,
  sendAll,
  sending,
  sendLoop,
} from './parts.ts';
import { inTurn, json } from './stub-service.ts';

onEitherEngine('a request whose data key is missing waits, and its reason names the key', async (t) => {
  const { db, clock, url, received, loop } = await owing(t, inTurn(200));
  const without = createEncryptor([{ id: 'k2', key: Buffer.alloc(32, 8) }]);
  const logged: unknown[] = [];
  const log = { ...silentLog, error: (fields: unknown) => logged.push(fields) };
  await sendLoop(t, db, url, clock, { senders: createChangeSenders(without), log }).runOnce();
  t.equal(received.length, 0);
  const reason = /could not be prepared: DATA_KEYS has no key k1/;
  t.match(await request(db, 'r-1'), { state: 'pending', reason });
  t.match(logged, [{ request_id: 'r-1', code: 'DATA_KEY_MISSING', reason }]);
  clock.advance(3_600_000);
  await sendAll(loop);
  t.match(await request(db, 'r-1'), { state: 'delivered' });
});

onEitherEngine('a delivered request’s body is erased, and its keyed hash stays', async (t) => {
  const { db, received, loop } = await owing(t, inTurn(200));
  t.equal((await loop.runOnce()).delivered, 1);
  const body = '{"request":"r-1"}';
  t.match(received, [{ path: '/employee-changes/demographic', body, headers: { 'idempotency-key': 'r-1' } }]);
  const row = await request(db, 'r-1');
  t.match(row, { state: 'delivered', is_next: 0, body: null, status: 200, claimed_by: null, attempts: 1 });
  const hasher = await openHasher(db, encryptor);
  t.ok(hasher.isHashOf(row.body_hash!, Buffer.from(body), placeOf('r-1', 'body')));
});

onEitherEngine('each kind of employment change has its own path', async (t) => {
  const { db, received, loop } = await sending(t, inTurn(200));
  const kinds = ['compensation-change', 'demographic', 'new-hire', 'termination'] as const;
  for (const kind of kinds) await owe(db, `r-${kind}`, `e-${kind}`, kind);
  await sendAll(loop);
  const paths = kinds.map((kind) => `/employee-changes/${kind}`);
  t.strictSame(received.map(({ path }) => path).sort(), paths);
});

onEitherEngine('a rejection stores the first 4 KiB of the response, encrypted', async (t) => {
  const answer = JSON.stringify({ error: 'x'.repeat(9_000) });
  const { db, loop } = await owing(t, (response) => response.writeHead(422).end(answer));
  t.equal((await loop.runOnce()).rejected, 1);
  const row = await request(db, 'r-1');
  const reason = 'the service responded with 422';
  t.match(row, { state: 'rejected', status: 422, reason, holds_later: 0, may_have_been_applied: 0 });
  t.notOk(row.response?.includes('xxx'));
  t.equal(encryptor.decrypt(row.response!, placeOf('r-1', 'response')).toString(), answer.slice(0, 4096));
  t.ok(row.body, 'it can be retried manually');
});

onEitherEngine('temporary failures are retried with backoff and the same idempotency key', async (t) => {
  const { db, clock, received, loop } = await owing(t, inTurn(500, 503, 408, 200));
  const dueIn: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    t.equal((await loop.runOnce()).retry, 1);
    t.equal((await loop.runOnce()).retry, 0, 'it is not due yet');
    const waitMs = Date.parse((await request(db, 'r-1')).due_at) - clock().getTime();
    dueIn.push(waitMs);
    clock.advance(waitMs);
  }
  t.strictSame(dueIn, [1_999, 3_997, 7_993]);
  t.equal((await loop.runOnce()).delivered, 1);
  t.strictSame(idsOf(received), Array(4).fill('r-1'));
  const attempts = await db.selectFrom('delivery_attempts').selectAll().orderBy('attempt').execute();
  const statuses = attempts.map(({ attempt, status }) => `${attempt} ${status}`);
  t.strictSame(statuses, ['1 500', '2 503', '3 408', '4 200']);
});

onEitherEngine('after a lost response the same key is sent, and a later rejection marked', async (t) => {
  const { db, clock, received, loop } = await owing(t, (response, _, index) => {
    if (index === 0) response.socket?.resetAndDestroy();
    else json(response, 422, { error: 'known already' });
  });
  t.equal((await loop.runOnce()).retry, 1);
  const lost = { unknown_outcome: 1, status: null, reason: /^no response was received: / };
  t.match(await request(db, 'r-1'), lost);
  clock.advance(60_000);
  t.equal((await loop.runOnce()).rejected, 1);
  t.match(await request(db, 'r-1'), { state: 'rejected', status: 422, may_have_been_applied: 1 });
  t.strictSame(idsOf(received), ['r-1', 'r-1']);
});

onEitherEngine('a 409 after a lost response waits for the attempt in progress', async (t) => {
  const { db, clock, loop } = await owing(t, (response, _, index) => {
    if (index === 0) response.socket?.resetAndDestroy();
    else json(response, index === 1 ? 409 : 200, index === 1 ? { error: 'in progress' } : {});
  });
  for (const verdict of ['retry', 'retry', 'delivered'] as const) {
    t.equal((await loop.runOnce())[verdict], 1);
    clock.advance(60_000);
  }
  t.match(await request(db, 'r-1'), { state: 'delivered' });
});

onEitherEngine(
  'a 2xx that reports a failure is rejected after five retries, with its contents',
  async (t) => {
    const { db, clock, received, loop } = await owing(t, (response) =>
      json(response, 200, { error: 'no such employee' }),
    );
    for (let minute = 0; minute < 60; minute += 1) {
      await sendAll(loop);
      clock.advance(60_000);
    }
    t.equal(received.length, 6);
    const row = await request(db, 'r-1');
    const reason = 'the service responded with 200 and reported a failure';
    t.match(row, { state: 'rejected', status: 200, reason, may_have_been_applied: 1, body: Buffer });
    t.match(encryptor.decrypt(row.response!, placeOf('r-1', 'response')).toString(), /no such employee/);
    await transact(db, (trx) => retryManually(trx, 'r-1', { force: false, ...acting(clock()) }));
    t.match(await loop.runOnce(), { retry: 1 }, 'a manual retry begins again');
  },
);

onEitherEngine('a 403 holds its subject and is retried slowly, and others continue', async (t) => {
  const { db, clock, received, loop } = await owing(t, (response, { body }) =>
    json(response, body.includes('r-1') ? 403 : 200),
  );
  await owe(db, 'r-2', 'e-1');
  await owe(db, 'r-3', 'e-2');
  await sendAll(loop);
  const held = await request(db, 'r-1');
  t.match(held, { state: 'pending', reason: 'the service responded with 403', is_next: 1 });
  t.equal(Date.parse(held.due_at) - clock().getTime(), 15 * 60_000);
  t.match(await request(db, 'r-2'), { state: 'pending', is_next: 0, attempts: 0 });
  t.match(await request(db, 'r-3'), { state: 'delivered' });
  t.equal(received.length, 2);
});

onEitherEngine('reasons, attempts and the raw file contain no personal data', async (t) => {
  const canary = '078-05-1120';
  const { db, databaseUrl, clock, loop } = await sending(t, (response, _, index) =>
    json(response, index === 0 ? 500 : 422, { error: canary }),
  );
  const body = Buffer.from(JSON.stringify({ ssn: canary }));
  const encrypted = encryptBody(encryptor, await openHasher(db, encryptor), 'r-1', body);
  const subject = { subject_type: 'employee', subject_id: '1' } as const;
  const change = { requestId: 'r-1', kind: 'new-hire', ...subject, encrypted } as const;
  await transact(db, (trx) => enqueue(trx, [change], clock().toISOString()));
  await loop.runOnce();
  clock.advance(60_000);
  t.equal((await loop.runOnce()).rejected, 1);
  const bytes = await rawBytes(db, databaseUrl);
  t.ok(bytes.includes('the service responded with 422'), 'the database has the reason');
  t.notOk(bytes.includes(canary));
});

onEitherEngine('an attempt that is aborted by a shutdown leaves its claim to expire', async (t) => {
  const abandon = new AbortController();
  const { db, clock, url, received, loop } = await owing(t, (response, _, index) =>
    index === 0 ? abandon.abort() : json(response, 200),
  );
  const senders = createChangeSenders(encryptor);
  const { claims } = await transact(db, (trx) => claim(trx, claimAs('ending', { senders }), clock()));
  const attempt = createAttempt({
    ...{ db, client: client(t, url), senders, sharedNow: async () => clock(), log: silentLog },
    ...{ owner: 'ending', abandoned: abandon.signal },
  });
  t.equal(await attempt(claims[0]!), null);
  t.match(await request(db, 'r-1'), { state: 'sending', claimed_by: 'ending' });
  clock.advance(30_000);
  await sendAll(loop);
  t.match(await request(db, 'r-1'), { state: 'delivered', unknown_outcome: 1, attempts: 2 });
  t.strictSame(idsOf(received), ['r-1', 'r-1']);
});

onEitherEngine('a request without a sender for its kind waits, and its reason is shown', async (t) => {
  const { db, loop } = await owing(t, inTurn(200), { senders: {} });
  t.equal((await loop.runOnce()).later, 1);
  const reason = 'nothing sends requests of the kind demographic';
  t.match(await request(db, 'r-1'), { state: 'pending', reason });
});

onEitherEngine('an attempt that cannot be recorded affects no other in its batch', async (t) => {
  const { db, clock, url, received, loop } = await owing(t, (response) =>
    setImmediate(() => json(response, 200)),
  );
  await owe(db, 'odd', 'e-2', 'termination');
  await owe(db, 'r-3', 'e-3');
  const usual = createChangeSenders(encryptor);
  const finished = () => Promise.reject(new Error('it cannot be'));
  const senders = { ...usual, termination: { ...usual.termination!, finished } };
  t.match(await sendLoop(t, db, url, clock, { senders }).runOnce(), { delivered: 2, lost: 1 });
  t.match(await request(db, 'odd'), { state: 'sending', attempts: 1 });
  for (const id of ['r-1', 'r-3']) t.match(await request(db, id), { state: 'delivered', body: null });
  clock.advance(30_000);
  await sendAll(loop);
  t.match(await request(db, 'odd'), { state: 'delivered', attempts: 2 });
  t.equal(received.length, 4);
});
