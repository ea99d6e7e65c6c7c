import type { Test } from 'tap';
import type { Db, RequestKind } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { claim } from '../../src/outbox/claims.ts';
import { finish } from '../../src/outbox/finish.ts';
import { cancelManually, releaseManually, retryManually } from '../../src/outbox/manual.ts';
import { employeeSubject, enqueue } from '../../src/outbox/queue.ts';
import type { AttemptOutcome } from '../../src/outbox/retry.ts';
import type { Claim } from '../../src/outbox/sender.ts';
import { scratch } from '../database/scratch.ts';
import { ACTING, acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import fc from '../support/seeded.ts';
import { claimAs, encryptor, owe, request, START, sendAll, sending, setClock } from './parts.ts';
import { json } from './stub-service.ts';

const now = START.toISOString();
const retry = (db: Db, id: string, force = false) =>
  transact(db, (trx) => retryManually(trx, id, { force, ...acting(now) }));
const cancel = (db: Db, id: string) =>
  transact(db, (trx) => cancelManually(trx, id, { reason: 'a typo', ...acting(now) }));
const release = (db: Db, id: string) => transact(db, (trx) => releaseManually(trx, id, ACTING));

/** A service that responds 422 to the given request ids, and 200 to others. */
async function service(t: Test, rejected: Set<string>, status = 422) {
  const { db, received, loop } = await sending(t, (response, { headers }) =>
    json(response, rejected.has(String(headers['idempotency-key'])) ? status : 200, { error: 'no' }),
  );
  return { db, loop, sent: () => received.map(({ headers }) => headers['idempotency-key']) };
}

onEitherEngine("a rejected new hire blocks the employee's later changes", async (t) => {
  const { db, sent, loop } = await service(t, new Set(['hire']));
  await owe(db, 'hire', 'e-1', 'new-hire');
  await owe(db, 'move', 'e-1');
  await sendAll(loop);
  await owe(db, 'raise', 'e-1', 'compensation-change');
  await sendAll(loop);
  t.strictSame(sent(), ['hire']);
  t.match(await request(db, 'hire'), { state: 'rejected', holds_later: 1 });
});

onEitherEngine('any other rejected change blocks no other change', async (t) => {
  const { db, sent, loop } = await service(t, new Set(['move']));
  await owe(db, 'move', 'e-1');
  await owe(db, 'raise', 'e-1', 'compensation-change');
  await sendAll(loop);
  t.strictSame(sent(), ['move', 'raise']);
});

onEitherEngine('releasing a rejected new hire sends the changes that wait for it', async (t) => {
  const { db, sent, loop } = await service(t, new Set(['hire']));
  await owe(db, 'hire', 'e-1', 'new-hire');
  await owe(db, 'move', 'e-1');
  await sendAll(loop);
  t.equal(await release(db, 'hire'), 'done');
  t.equal(await release(db, 'hire'), 'not-blocking');
  await sendAll(loop);
  t.strictSame(sent(), ['hire', 'move']);
});

onEitherEngine('canceling a rejected new hire releases the later changes and erases its body', async (t) => {
  const { db, sent, loop } = await service(t, new Set(['hire']));
  await owe(db, 'hire', 'e-1', 'new-hire');
  await owe(db, 'move', 'e-1');
  await sendAll(loop);
  t.equal(await cancel(db, 'hire'), 'done');
  t.match(await request(db, 'hire'), { state: 'canceled', body: null, reason: 'a typo' });
  await sendAll(loop);
  t.strictSame(sent(), ['hire', 'move']);
});

onEitherEngine('a manual retry is refused if a newer change was delivered, unless forced', async (t) => {
  const { db, loop } = await service(t, new Set(['old']));
  await owe(db, 'old', 'e-1');
  await owe(db, 'new', 'e-1');
  await sendAll(loop);
  t.equal(await retry(db, 'old'), 'newer-delivered');
  t.match(await request(db, 'old'), { state: 'rejected' });
  t.equal(await retry(db, 'old', true), 'done');
  t.match(await request(db, 'old'), { state: 'pending', is_next: 1 });
});

onEitherEngine('a manual retry sends a pending change immediately', async (t) => {
  const refused = new Set(['r-1']);
  const { db, sent, loop } = await service(t, refused, 403);
  await owe(db, 'r-1', 'e-1');
  await owe(db, 'r-2', 'e-1');
  await sendAll(loop);
  t.match(await request(db, 'r-1'), { state: 'pending', reason: 'the service responded with 403' });
  refused.clear();
  await sendAll(loop);
  t.strictSame(sent(), ['r-1'], 'not before its time');
  t.equal(await retry(db, 'r-1'), 'done');
  await sendAll(loop);
  t.strictSame(sent(), ['r-1', 'r-1', 'r-2'], 'then in order');
});

onEitherEngine('a finished change can be neither retried nor canceled', async (t) => {
  const { db, loop } = await service(t, new Set());
  await owe(db, 'r-1', 'e-1');
  t.equal(await release(db, 'r-1'), 'not-blocking');
  await sendAll(loop);
  t.equal(await retry(db, 'r-1'), 'not-retried');
  t.equal(await cancel(db, 'r-1'), 'finished');
  for (const act of [retry, cancel, release]) t.equal(await act(db, 'nobody'), 'not-found');
});

onEitherEngine('a request that is being sent cannot be canceled', async (t) => {
  const { db, loop } = await sending(t, async (response) => {
    answers.push(await cancel(db, 'r-1'), await retry(db, 'r-1'));
    json(response, 200);
  });
  const answers: string[] = [];
  await owe(db, 'r-1', 'e-1');
  await sendAll(loop);
  t.strictSame(answers, ['being-sent', 'not-retried']);
  t.match(await request(db, 'r-1'), { state: 'delivered' });
});

onEitherEngine('a change that is retried while a later one is being sent waits for it', async (t) => {
  const { db, received, loop } = await sending(t, async (response, { headers }, index) => {
    if (headers['idempotency-key'] === 'new') t.equal(await retry(db, 'old'), 'done');
    json(response, index === 0 ? 422 : 200);
  });
  await owe(db, 'old', 'e-1');
  await owe(db, 'new', 'e-1');
  await sendAll(loop);
  t.strictSame(
    received.map(({ headers }) => headers['idempotency-key']),
    ['old', 'new', 'old'],
  );
  t.match(
    [await request(db, 'old'), await request(db, 'new')],
    [{ state: 'delivered' }, { state: 'delivered' }],
  );
});

const SUBJECTS = ['a', 'b'];
const KINDS: RequestKind[] = ['new-hire', 'demographic'];
const STATUSES = [200, 422, 503, 403, 401, 0];

const step = fc.oneof(
  fc.record({ do: fc.constant('enqueue' as const), subject: fc.nat(1), kind: fc.nat(1) }),
  fc.record({ do: fc.constant('claim' as const), limit: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('finish' as const), pick: fc.nat(), status: fc.nat(STATUSES.length - 1) }),
  fc.record({ do: fc.constantFrom('cancel' as const, 'release' as const, 'retry' as const), pick: fc.nat() }),
  fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(1, 40, 1_000, 200_000, -200_000) }),
);

onEitherEngine('after any actions the front of a subject is its oldest request, or it is held', async (t) => {
  const { db } = await scratch(t);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      await empty(db);
      const clock = setClock();
      const claims: Claim[] = [];
      let count = 0;
      for (const now of steps) {
        const at = clock();
        await transact(db, async (trx) => {
          const iso = at.toISOString();
          const ids = (await trx.selectFrom('outbox').select('request_id').orderBy('seq').execute()).map(
            ({ request_id }) => request_id,
          );
          if (now.do === 'enqueue') {
            const kind = KINDS[now.kind] as RequestKind;
            const subject = employeeSubject(SUBJECTS[now.subject] as string);
            await enqueue(trx, [{ requestId: `r-${count++}`, kind, ...subject, encrypted: null }], iso);
          } else if (now.do === 'claim') {
            claims.push(...(await claim(trx, claimAs('o', { limit: now.limit }), at)).claims);
          } else if (now.do === 'finish') {
            const [claimed] = claims.splice(now.pick % Math.max(1, claims.length), 1);
            const by = { owner: 'o', senders: {}, encryptor, random: () => 0 };
            if (claimed) {
              const outcome = outcomeOf(STATUSES[now.status] as number);
              await finish(trx, by, [{ claim: claimed, kind: 'attempt', outcome, ms: 0 }], at);
            }
          } else if (now.do === 'wait') clock.advance(now.seconds * 1_000);
          else if (ids.length > 0) {
            const id = ids[now.pick % ids.length] as string;
            if (now.do === 'cancel') await cancelManually(trx, id, { reason: 'x', ...acting(iso) });
            if (now.do === 'release') await releaseManually(trx, id, ACTING);
            if (now.do === 'retry') await retryManually(trx, id, { force: true, ...acting(iso) });
          }
        });
        await assertFronts(db);
      }
    }),
    { numRuns: 60 },
  );
  t.pass('held for all');
});

async function assertFronts(db: Db): Promise<void> {
  const rows = await db.selectFrom('outbox').selectAll().orderBy('seq').execute();
  for (const subject of SUBJECTS) {
    const own = rows.filter((row) => row.subject_id === subject);
    const unfinished = own.filter((row) => row.state === 'pending' || row.state === 'sending');
    const sending = own.filter((row) => row.state === 'sending');
    const fronts = own.filter((row) => row.is_next === 1).map((row) => row.seq);
    const held = own.some((row) => row.holds_later === 1);
    const first = sending[0] ?? (held ? undefined : unfinished[0]);
    const expected = first === undefined ? [] : [first.seq];
    if (sending.length > 1 || fronts.join() !== expected.join()) {
      throw new Error(`${subject}: front ${fronts}, expected ${expected}, ${sending.length} sending`);
    }
  }
}

function outcomeOf(status: number): AttemptOutcome {
  if (status === 0) return { responded: false, code: 'ECONNRESET', sent: true };
  return { responded: true, status, content: 'json-error', retryAfterMs: null, response: Buffer.from('{}') };
}

async function empty(db: Db): Promise<void> {
  await transact(db, async (trx) => {
    await trx.deleteFrom('delivery_attempts').execute();
    await trx.deleteFrom('outbox').execute();
    await trx
      .updateTable('circuit_breaker')
      .set({ state: 'active', next_probe_at: null, probe_count: 0 })
      .execute();
  });
}
