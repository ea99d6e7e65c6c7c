import type { Db, RequestKind } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { cancelManually, releaseManually, retryManually } from '../../src/outbox/manual.ts';
import { ACTING, acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { idsOf, owe, owing, request, START, sendAll, sending } from './parts.ts';
import { inTurn, json } from './stub-service.ts';

const now = START.toISOString();
const retry = (db: Db, id: string, force = false) =>
  transact(db, (trx) => retryManually(trx, id, { force, ...acting(now) }));
const cancel = (db: Db, id: string) =>
  transact(db, (trx) => cancelManually(trx, id, { reason: 'a typo', ...acting(now) }));
const release = (db: Db, id: string) => transact(db, (trx) => releaseManually(trx, id, ACTING));

const KIND_OF: Record<string, RequestKind> = { hire: 'new-hire', raise: 'compensation-change' };

/** Changes of one employee (`!`: rejected) and actions → the changes sent; the states in which all end. */
const RULES = {
  "a rejected new hire blocks the employee's later changes":
    'hire!, move, send, raise, send → hire; hire holds others, move pending, raise pending',
  'any other rejected change blocks no other change':
    'move!, raise, send → move raise; move rejected, raise delivered',
  'releasing a rejected new hire sends the changes that wait for it':
    'hire!, move, send, release hire: done, release hire: not-blocking, send → hire move; hire rejected, move delivered',
  'canceling a rejected new hire releases the later changes and erases its body':
    'hire!, move, send, cancel hire: done, send → hire move; hire canceled, move delivered',
  'a manual retry is refused if a newer change was delivered':
    'move!, raise, send, retry move: newer-delivered → move raise; move rejected, raise delivered',
  'a forced manual retry is sent although a newer change was delivered':
    'move!, raise, send, force move: done → move raise; move is next, raise delivered',
  'a finished change can be neither retried nor canceled':
    'move, release move: not-blocking, send, retry move: not-retried, cancel move: finished → move; move delivered',
  'an unknown change is not found':
    'move, retry raise: not-found, cancel raise: not-found, release raise: not-found → ; move is next',
};

const ACTIONS = { retry, cancel, release, force: (db: Db, id: string) => retry(db, id, true) };

for (const [rule, text] of Object.entries(RULES)) {
  onEitherEngine(rule, async (t) => {
    const [given = '', sent, states] = text.split(/ → |; /);
    const { db, received, loop } = await sending(t, (response, { headers }) =>
      json(response, given.includes(`${headers['idempotency-key']}!`) ? 422 : 200, { error: 'no' }),
    );
    for (const step of given.split(', ')) {
      const [, action, id = '', outcome] = /^(\w+) (\w+): (.*)$/.exec(step) ?? [];
      const name = step.replace('!', '');
      if (action) t.equal(await ACTIONS[action as keyof typeof ACTIONS](db, id), outcome, step);
      else if (name === 'send') await sendAll(loop);
      else await owe(db, name, 'e-1', KIND_OF[name]);
    }
    t.equal(idsOf(received).join(' '), sent);
    const rows = await db.selectFrom('outbox').selectAll().orderBy('seq').execute();
    const endOf = (row: (typeof rows)[0]) => {
      if (row.holds_later === 1) return 'holds others';
      return row.state === 'pending' && row.is_next === 1 ? 'is next' : row.state;
    };
    t.equal(rows.map((row) => `${row.request_id} ${endOf(row)}`).join(', '), states);
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
  t.equal(await retry(db, 'r-1'), 'done');
  await sendAll(loop);
  t.strictSame(idsOf(received), ['r-1', 'r-1', 'r-2'], 'then in order');
});

onEitherEngine('a request that is being sent cannot be canceled', async (t) => {
  const answers: string[] = [];
  const { db, loop } = await owing(t, async (response) => {
    answers.push(await cancel(db, 'r-1'), await retry(db, 'r-1'));
    json(response, 200);
  });
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
  t.strictSame(idsOf(received), ['old', 'new', 'old']);
  for (const id of ['old', 'new']) t.match(await request(db, id), { state: 'delivered' });
});
