import { rmSync, writeFileSync } from 'node:fs';
import { transact } from '../../src/database/transaction.ts';
import {
  applySignals,
  pauseSending,
  readCircuitBreaker,
  type Signal,
} from '../../src/outbox/circuit-breaker.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';
import { client, idsOf, owe, owing, request, START, sendAll, sending, sendLoop } from './parts.ts';
import { type Answer, inTurn, json } from './stub-service.ts';

type Refusal = [status: number, body: string, headers?: Record<string, string>];
const WRONG_TARGET: Record<string, Refusal> = {
  'a 401': [401, '{"error":"no key"}'],
  'a redirect': [302, '', { location: '/login' }],
  'an HTML 404': [404, '<h1>Not found</h1>'],
  'a JSON 404 without an error': [404, '{"detail":"Employer not found."}'],
};
/** Refuses the requests of the employees or employers named `odd`, and accepts all others. */
const refusingOdd =
  ([status, body, headers = {}]: Refusal): Answer =>
  (response, { body: sent }) =>
    sent.includes('odd') ? response.writeHead(status, headers).end(body) : json(response, 200);

for (const [name, refusal] of Object.entries(WRONG_TARGET)) {
  onEitherEngine(
    `${name} of one subject holds it, probed at 1 s doubling to 60 s, and no other`,
    async (t) => {
      const { db, clock, received, loop } = await sending(t, refusingOdd(refusal));
      await owe(db, 'odd', 'e-1');
      await owe(db, 'r-0', 'e-2');
      t.match(await loop.runOnce(), { hold: 1, delivered: 1 });
      for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
        clock.advance(seconds * 1_000 - 1);
        await owe(db, `r-${received.length}`, 'e-2', 'demographic', clock());
        t.match(await loop.runOnce(), { hold: 0, delivered: 1 });
        clock.advance(1);
        t.match(await loop.runOnce(), { hold: 1 }, `after ${seconds} s`);
        t.match(await readCircuitBreaker(db), { state: 'active' });
      }
      const held = {
        state: 'pending',
        unknown_outcome: 0,
        reason: `the service responded with ${refusal[0]}`,
      };
      t.match(await request(db, 'odd'), held);
    },
  );

  onEitherEngine(
    `${name} of two subjects pauses all sending, with one probe every 1 s to 60 s`,
    async (t) => {
      const answer: Answer = (response) => response.writeHead(refusal[0], refusal[2]).end(refusal[1]);
      const { db, clock, received, loop } = await owing(t, answer, { concurrency: 2 });
      for (const id of ['r-2', 'r-3', 'r-4']) await owe(db, id, id);
      t.equal((await loop.runOnce()).hold, 2);
      const reason = `the service responded with ${refusal[0]}`;
      t.match(await readCircuitBreaker(db), { state: 'paused', reason, paused_at: clock().toISOString() });
      for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
        clock.advance(seconds * 1_000 - 1);
        await sendAll(loop);
        const before = received.length;
        clock.advance(1);
        await sendAll(loop);
        t.equal(received.length, before + 1, `one probe after ${seconds} s`);
      }
      t.strictSame(idsOf(received).slice(2, 4), ['r-3', 'r-4'], 'subjects that are not held probe first');
      t.match(await request(db, 'r-1'), { state: 'pending', may_have_been_applied: 0, unknown_outcome: 0 });
    },
  );
}

onEitherEngine('a 401 pauses sending when no other request is due', async (t) => {
  const { db, loop } = await owing(t, inTurn(401));
  await owe(db, 'later', 'e-2', 'demographic', new Date(START.getTime() + 60_000));
  t.match(await loop.runOnce(), { hold: 1 });
  t.match(await readCircuitBreaker(db), { state: 'paused' });
});

onEitherEngine('a success between two subjects that are refused keeps sending active', async (t) => {
  const { db, clock, loop } = await sending(t, refusingOdd([404, '']), { concurrency: 1 });
  for (const id of ['odd-1', 'good', 'odd-2']) {
    await owe(db, id, id, 'demographic', clock());
    await loop.runOnce();
    t.match(await readCircuitBreaker(db), { state: 'active' }, id);
  }
  // Nothing but the refused ones is left. Each repeats what was known before the last success.
  clock.advance(1_000);
  await owe(db, 'also good', 'e-1', 'demographic', clock());
  await sendAll(loop);
  const states = new Set<string>();
  for (let seconds = 0; seconds < 300; seconds += 1) {
    clock.advance(1_000);
    await sendAll(loop);
    states.add((await readCircuitBreaker(db)).state);
  }
  t.strictSame([...states], ['active']);
});

onEitherEngine('the 2xx of a probe makes all held subjects due at once', async (t) => {
  let isFixed = false;
  const { db, clock, received, loop } = await sending(t, (response) =>
    isFixed ? json(response, 200) : response.writeHead(404).end(),
  );
  for (const id of ['r-1', 'r-2', 'r-3']) await owe(db, id, id);
  for (let seconds = 0; seconds < 600; seconds += 1) {
    await sendAll(loop);
    clock.advance(1_000);
  }
  isFixed = true;
  await owe(db, 'new', 'new', 'demographic', clock());
  clock.advance(60_000);
  const before = received.length;
  await loop.runOnce();
  t.strictSame(idsOf(received).slice(before), ['new'], 'the probe is a subject that is not held');
  await sendAll(loop);
  t.equal(received.length - before, 4);
});

onEitherEngine('the next probe reads a fixed key from its file, and sending resumes', async (t) => {
  const file = `${t.testdirName}-key`;
  t.teardown(() => rmSync(file));
  writeFileSync(file, 'old-key');
  const { db, clock, url, received } = await sending(t, (response, { headers }) =>
    json(response, headers.authorization === 'Bearer new-key' ? 200 : 401),
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
  const unsent: Signal = {
    ...{ probe: true, subject: 'employee:e-1', status: null, reason: '', responded: null },
    ...{ isDelivered: false, isWrongTarget: false, isFirst: false },
  };
  await transact(db, (trx) => pauseSending(trx, '401', now));
  t.not((await readCircuitBreaker(db)).next_probe_at, now.toISOString());
  await transact(db, (trx) => applySignals(trx, [unsent], now));
  t.match(await readCircuitBreaker(db), { state: 'paused', next_probe_at: now.toISOString() });
});
