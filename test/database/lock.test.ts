import t from 'tap';
import { isUnavailable } from '../../src/database/errors.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { startChild } from './child.ts';
import { scratch } from './scratch.ts';

/** The time that a writer waits for the lock. */
const LOCK_WAIT_MS = 3_000;
/** The event loop turns about 300 times during the wait, and hardly at all if the wait blocks it. */
const TURNS_MIN = 10;

t.test('while another process holds the write lock', async (t) => {
  const { db, url } = await scratch(t);
  const child = startChild(t, 'child-holds-lock.ts', sqlitePath(url));
  t.equal(await child.line(), 'held');

  const began = performance.now();
  const waiting = [1, 2, 3].map((position) =>
    transact(db, (trx) => trx.updateTable('ledger_head').set({ position }).execute()),
  );
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 10);
  const { position } = await db.selectFrom('ledger_head').selectAll().executeTakeFirstOrThrow();
  t.equal(position, 0, 'reads go on');

  const outcomes = await Promise.allSettled(waiting);
  clearInterval(ticking);
  const waitedMs = performance.now() - began;
  for (const outcome of outcomes) {
    t.match(
      outcome,
      { status: 'rejected', reason: { code: 'LOCK_TIMEOUT' } },
      'a writer gets a retryable error',
    );
    t.ok(isUnavailable((outcome as PromiseRejectedResult).reason), 'the error is temporary');
  }
  t.ok(waitedMs > 0.9 * LOCK_WAIT_MS, `the writers waited: ${waitedMs} ms`);
  t.ok(waitedMs < waiting.length * LOCK_WAIT_MS, `all at once, not in turn: ${waitedMs} ms`);
  t.ok(turns >= TURNS_MIN, `the event loop turned ${turns} times`);

  const late = transact(db, (trx) => trx.updateTable('ledger_head').set({ position: 4 }).execute());
  child.process.stdin!.end();
  await late;
  t.equal(await child.end(), 0);
  const after = await db.selectFrom('ledger_head').selectAll().executeTakeFirstOrThrow();
  t.equal(after.position, 4, 'a waiting writer gets the lock when it is released');
});
