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
import {
  claimAs,
  encryptor,
  idsOf,
  owe,
  owing,
  request,
  START,
  sendAll,
  sending,
  setClock,
} from './parts.ts';
import { inTurn, json } from './stub-service.ts';

const now = START.toISOString();
const retry = (db: Db, id: string, force = false) =>
  transact(db, (trx) => retryManually(trx, id, { force, ...acting(now) }));
const cancel = (db: Db, id: string) =>
  transact(db, (trx) => cancelManually(trx, id, { reason: 'a typo', ...acting(now) }));
const release = (db: Db, id: string) => transact(db, (trx) => releaseManually(trx, id, ACTING));

const KIND_OF: Record<string, RequestKind> = { hire: 'new-hire', raise: 'compensation-change' };

/** Changes of one employee, of which `!` marks a rejected one, and actions → what is sent; how the changes end. */
const RULES = {
  "a rejected new hire blocks the employee's later changes":
    'hire!, move, send, raise, send → hire; hire holds others, move pending, raise pending',
  'any other rejected change blocks no other change':
    'move!, raise, send → move raise; move rejected, raise delivered',
  'releasing a rejected new hire sends the changes that wait for it':
    'hire!, move, send, release hire: done, release hire: no other waits, send → hire move; hire rejected, move delivered',
  'canceling a rejected new hire releases the later changes and erases its body':
    'hire!, move, send, cancel hire: done, send → hire move; hire canceled, move delivered',
  'a manual retry is refused if a newer change was delivered':
    'move!, raise, send, retry move: newer was delivered → move raise; move rejected, raise delivered',
  'a forced manual retry is sent although a newer change was delivered':
    'move!, raise, send, force move: done → move raise; move is next, raise delivered',
  'a finished change can be neither retried nor canceled':
    'move, release move: no other waits, send, retry move: is delivered, cancel move: is delivered → move; move delivered',
  'an unknown change is not found':
    'move, retry raise: unknown, cancel raise: unknown, release raise: unknown → ; move is next',
};

const ACTIONS = { retry, cancel, release, force: (db: Db, id: string) => retry(db, id, true) };

/** A part of each refusal → its name above. */
const REFUSALS: Record<string, string> = {
  'No other change waits': 'no other waits',
  'A newer change': 'newer was delivered',
  'is delivered': 'is delivered',
  'is canceled': 'is canceled',
  'being sent': 'is being sent',
  'There is no': 'unknown',
};

/** Returns how an action ends. */
async function endOf(action: Promise<void>): Promise<string | undefined> {
  try {
    await action;
    return 'done';
  } catch (error) {
    const { message } = error as Error;
    return Object.entries(REFUSALS).find(([part]) => message.includes(part))?.[1];
  }
}

for (const [rule, text] of Object.entries(RULES)) {
  onEitherEngine(rule, async (t) => {
    const [given = '', sent, states] = text.split(/ → |; /);
    const { db, received, loop } = await sending(t, (response, { headers }) =>
      json(response, given.includes(`${headers['idempotency-key']}!`) ? 422 : 200),
    );
    for (const step of given.split(', ')) {
      const [, action, id = '', outcome] = /^(\w+) (\w+): (.*)$/.exec(step) ?? [];
      const name = step.replace('!', '');
      if (action) t.equal(await endOf(ACTIONS[action as keyof typeof ACTIONS](db, id)), outcome, step);
      else if (name === 'send') await sendAll(loop);
      else await owe(db, name, 'e-1', KIND_OF[name]);
    }
    t.equal(idsOf(received).join(' '), sent);
    const rows = await db.selectFrom('outbox').selectAll().orderBy('seq').execute();
    const stateOf = (row: (typeof rows)[0]) => {
      if (row.holds_later === 1) return 'holds others';
      return row.state === 'pending' && row.is_next === 1 ? 'is next' : row.state;
    };
    t.equal(rows.map((row) => `${row.request_id} ${stateOf(row)}`).join(', '), states);
    const canceled = rows.find(({ state }) => state === 'canceled');
    if (canceled) t.match(canceled, { body: null, reason: 'a typo' });
  });
}

onEitherEngine('a manual retry sends a pending change immediately', async (t) => {
  const { db, received, loop } = await owing(t, inTurn(403, 200));
  await owe(db, 'r-2', 'e-1');
  await sendAll(loop);
  t.match(await request(db, 'r-1'), { state: 'pending', reason: 'the service responded with 403' });
  await sendAll(loop);
  t.strictSame(idsOf(received), ['r-1'], 'not before its time');
  await retry(db, 'r-1');
  await sendAll(loop);
  t.strictSame(idsOf(received), ['r-1', 'r-1', 'r-2'], 'then in order');
});

onEitherEngine('a request that is being sent cannot be canceled', async (t) => {
  const ends: unknown[] = [];
  const { db, loop } = await owing(t, async (response) => {
    ends.push(await endOf(cancel(db, 'r-1')), await endOf(retry(db, 'r-1')));
    json(response, 200);
  });
  await sendAll(loop);
  t.strictSame(ends, ['is being sent', 'is being sent']);
  t.match(await request(db, 'r-1'), { state: 'delivered' });
});

onEitherEngine('a change that is retried while a later one is being sent waits for it', async (t) => {
  const { db, received, loop } = await sending(t, async (response, { headers }, index) => {
    if (headers['idempotency-key'] === 'new') await retry(db, 'old');
    json(response, index === 0 ? 422 : 200);
  });
  await owe(db, 'old', 'e-1');
  await owe(db, 'new', 'e-1');
  await sendAll(loop);
  t.strictSame(idsOf(received), ['old', 'new', 'old']);
  for (const id of ['old', 'new']) t.match(await request(db, id), { state: 'delivered' });
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
          const requests = await trx.selectFrom('outbox').select('request_id').orderBy('seq').execute();
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
          else if (requests.length > 0) {
            const { request_id: id } = requests[now.pick % requests.length] as { request_id: string };
            const acted =
              now.do === 'cancel'
                ? cancelManually(trx, id, { reason: 'x', ...acting(iso) })
                : now.do === 'release'
                  ? releaseManually(trx, id, ACTING)
                  : retryManually(trx, id, { force: true, ...acting(iso) });
            t.ok(await endOf(acted));
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
    if (sending.length > 1 || fronts.join() !== expected.join())
      throw new Error(`${subject}: front ${fronts}, expected ${expected}, ${sending.length} sending`);
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
    const active = { state: 'active', next_probe_at: null, probe_count: 0 } as const;
    await trx.updateTable('circuit_breaker').set(active).execute();
  });
}
