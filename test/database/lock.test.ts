import t from 'tap';
import { isUnavailable } from '../../src/database/errors.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { startChild } from './child.ts';
import { scratch } from './scratch.ts';

/** The longest silence of the event loop that still counts as alive, on a machine that runs other tests too. */
const LONGEST_FREEZE_MS = 500;

t.test('while another process holds the write lock', async (t) => {
  const { db, url } = await scratch(t);
  const child = startChild(t, 'child-holds-lock.ts', sqlitePath(url));
  t.equal(await child.line(), 'held');

  const began = performance.now();
  const waiting = [1, 2, 3].map((position) =>
    transact(db, (trx) => trx.updateTable('ledger_head').set({ position }).execute()),
  );
  let longest = 0;
  let ticked = began;
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - ticked);
    ticked = performance.now();
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
      'a writer is told to come back',
    );
    t.ok(isUnavailable((outcome as PromiseRejectedResult).reason), 'nothing is said against its work');
  }
  t.ok(waitedMs > 2_500 && waitedMs < 5_000, `all of them after 3 s, whatever the queue: ${waitedMs} ms`);
  t.ok(longest < LONGEST_FREEZE_MS, `the event loop kept turning: ${longest} ms`);

  const late = transact(db, (trx) => trx.updateTable('ledger_head').set({ position: 4 }).execute());
  child.process.stdin!.end();
  await late;
  t.equal(await child.end(), 0);
  const after = await db.selectFrom('ledger_head').selectAll().executeTakeFirstOrThrow();
  t.equal(after.position, 4, 'a writer that still waits when the lock is let go gets it');
});
