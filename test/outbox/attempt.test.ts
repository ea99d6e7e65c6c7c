import { transact } from '../../src/database/transaction.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { createAttempt } from '../../src/outbox/attempt.ts';
import { claim } from '../../src/outbox/claims.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';
import { client, encryptor, owe, request, sendAll, sendLoop, setClock } from './parts.ts';
import { json, stubService } from './stub-service.ts';

onEitherEngine('an attempt that is aborted by a shutdown leaves its claim to expire', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  const abandon = new AbortController();
  const { url, received } = await stubService(t, (response, _, index) =>
    index === 0 ? abandon.abort() : json(response, 200),
  );
  await owe(db, 'r-1', 'e-1');
  const senders = createChangeSenders(encryptor);
  const wish = {
    owner: 'ending',
    limit: 1,
    uploads: 1,
    inFlight: new Set<string>(),
    takesOver: true,
    senders,
  };
  const { claims } = await transact(db, (trx) => claim(trx, wish, clock()));
  const attempt = createAttempt({
    db,
    client: client(t, url),
    senders,
    sharedNow: async () => clock(),
    log: silentLog,
    owner: 'ending',
    abandoned: abandon.signal,
  });
  t.equal(await attempt(claims[0]!), null);
  t.match(await request(db, 'r-1'), { state: 'sending', claimed_by: 'ending' });
  clock.advance(30_000);
  await sendAll(sendLoop(t, db, url, clock));
  t.match(await request(db, 'r-1'), { state: 'delivered', unknown_outcome: 1, attempts: 2 });
  t.equal(received[0]?.headers['idempotency-key'], received[1]?.headers['idempotency-key']);
});

onEitherEngine('a request without a sender for its kind waits, and its reason is shown', async (t) => {
  const { db } = await scratch(t);
  const { url } = await stubService(t, (response) => json(response, 200));
  await owe(db, 'r-1', 'e-1');
  t.equal((await sendLoop(t, db, url, setClock(), { senders: {} }).runOnce()).later, 1);
  t.match(await request(db, 'r-1'), {
    state: 'pending',
    reason: 'nothing sends requests of the kind demographic',
  });
});

onEitherEngine('an attempt that cannot be recorded affects no other in its batch', async (t) => {
  const { db } = await scratch(t);
  const { url, received } = await stubService(t, (response) => setImmediate(() => json(response, 200)));
  await owe(db, 'r-1', 'e-1');
  await owe(db, 'odd', 'e-2', 'termination');
  await owe(db, 'r-3', 'e-3');
  const usual = createChangeSenders(encryptor);
  const finished = () => Promise.reject(new Error('it cannot be'));
  const senders = { ...usual, termination: { ...usual.termination!, finished } };
  const clock = setClock();
  t.match(await sendLoop(t, db, url, clock, { senders }).runOnce(), { delivered: 2, lost: 1 });
  t.match(await request(db, 'odd'), { state: 'sending', attempts: 1 });
  for (const id of ['r-1', 'r-3']) t.match(await request(db, id), { state: 'delivered', body: null });
  clock.advance(30_000);
  await sendAll(sendLoop(t, db, url, clock));
  t.match(await request(db, 'odd'), { state: 'delivered', attempts: 2 });
  t.equal(received.length, 4);
});
