import { rmSync, writeFileSync } from 'node:fs';
import { transact } from '../../src/database/transaction.ts';
import { applySignals, pauseSending, readCircuitBreaker } from '../../src/outbox/circuit-breaker.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';
import { client, owe, owing, request, sendAll, sending, sendLoop } from './parts.ts';
import { type Answer, inTurn, json } from './stub-service.ts';

const PAUSING: Record<string, [status: number, body: string, headers?: Record<string, string>]> = {
  '401': [401, '{"error":"no key"}'],
  'a redirect': [302, '', { location: '/login' }],
  '404 without a JSON error': [404, '<h1>Not found</h1>'],
};
for (const [name, [status, body, headers = {}]] of Object.entries(PAUSING)) {
  onEitherEngine(`${name} pauses all sending, with one probe at a time every 1 s to 60 s`, async (t) => {
    const answer: Answer = (response) => response.writeHead(status, headers).end(body);
    const { db, clock, received, loop } = await owing(t, answer);
    t.equal((await loop.runOnce()).pause, 1);
    const reason = `the service responded with ${status}`;
    const paused = { state: 'paused', reason, paused_at: clock().toISOString() };
    t.match(await readCircuitBreaker(db), paused);
    for (const id of ['r-2', 'r-3', 'r-4']) await owe(db, id, id);
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      clock.advance(seconds * 1_000 - 1);
      await sendAll(loop);
      const before = received.length;
      clock.advance(1);
      await sendAll(loop);
      t.equal(received.length, before + 1, `one probe after ${seconds} s`);
    }
    t.match(await request(db, 'r-1'), { state: 'pending', may_have_been_applied: 0, unknown_outcome: 0 });
  });
}

onEitherEngine('the next probe reads a fixed key from its file, and sending resumes', async (t) => {
  const file = `${t.testdirName}-key`;
  t.teardown(() => rmSync(file));
  writeFileSync(file, 'old-key');
  const { db, clock, url, received } = await sending(t, (response, { headers }) =>
    json(response, headers.authorization === 'Bearer new-key' ? 200 : 401, { error: 'no' }),
  );
  for (let n = 1; n <= 20; n += 1) await owe(db, `r-${n}`, `e-${n}`);
  const loop = sendLoop(t, db, url, clock, { client: client(t, url, file) });
  await sendAll(loop);
  writeFileSync(file, 'new-key');
  const before = received.length;
  clock.advance(1_000);
  const steps: number[] = [];
  while (steps.at(-1) !== 0) steps.push((await loop.runOnce()).delivered);
  t.strictSame(steps, [1, 2, 4, 8, 5, 0], 'slowly at first: each response allows one more');
  t.equal(received.length - before, 20);
  t.match(await readCircuitBreaker(db), { state: 'active', reason: null, next_probe_at: null });
});

onEitherEngine('an unreadable key file leaves the old key in use', async (t) => {
  const { db, clock, url } = await owing(t, inTurn(401, 200));
  const loop = sendLoop(t, db, url, clock, { client: client(t, url, `${t.testdirName}/none`) });
  await sendAll(loop);
  clock.advance(1_000);
  t.equal((await loop.runOnce()).delivered, 1);
});

const PROBED = {
  ...{ 200: 'active', 422: 'active', 429: 'active', 503: 'active', 403: 'active' },
  'no response': 'paused',
};
for (const [answer, state] of Object.entries(PROBED)) {
  const effect = state === 'active' ? 'resumes sending' : 'leaves sending paused';
  onEitherEngine(`a probe with ${answer} ${effect}`, async (t) => {
    const { db, clock, loop } = await owing(t, (response, _, index) => {
      if (index === 0 || Number(answer) > 0) json(response, index === 0 ? 401 : Number(answer));
      else response.socket?.resetAndDestroy();
    });
    await sendAll(loop);
    clock.advance(1_000);
    await sendAll(loop);
    t.match(await readCircuitBreaker(db), { state, probe_count: state === 'active' ? 0 : 1 });
  });
}

onEitherEngine('a request that always pauses sending blocks no other request', async (t) => {
  const answer: Answer = (response, { body }) =>
    body.includes('odd') ? response.writeHead(404).end('no such page') : json(response, 200);
  const { db, clock, loop } = await sending(t, answer, { concurrency: 1 });
  await owe(db, 'odd', 'e-0');
  for (let n = 1; n <= 12; n += 1) await owe(db, `r-${n}`, `e-${n}`, 'demographic', clock());
  for (let seconds = 0; seconds < 300; seconds += 1) {
    await sendAll(loop);
    clock.advance(1_000);
  }
  const left = await db.selectFrom('outbox').select('request_id').where('state', '<>', 'delivered').execute();
  t.strictSame(left, [{ request_id: 'odd' }]);
});

onEitherEngine('the paused state survives a restart, and a clock set back does not extend it', async (t) => {
  const { db, clock, url, received, loop } = await owing(t, inTurn(401, 200));
  await sendAll(loop);
  for (const id of ['r-2', 'r-3']) await owe(db, id, id);
  t.equal((await sendLoop(t, db, url, clock).runOnce()).delivered, 0, 'another loop finds it paused');
  clock.advance(-2 * 86_400_000);
  t.equal((await sendLoop(t, db, url, clock).runOnce()).delivered, 1, 'one probe, whatever else is due');
  t.equal(received.length, 2);
});

onEitherEngine('after a probe that sent nothing another request may probe at once', async (t) => {
  const { db } = await scratch(t);
  const now = new Date('2026-03-02T00:00:00.000Z');
  const unsent = { probe: true, pauses: false, responded: null, reason: '' };
  await transact(db, (trx) => pauseSending(trx, '401', now));
  t.not((await readCircuitBreaker(db)).next_probe_at, now.toISOString());
  await transact(db, (trx) => applySignals(trx, [unsent], now));
  t.match(await readCircuitBreaker(db), { state: 'paused', next_probe_at: now.toISOString() });
});
