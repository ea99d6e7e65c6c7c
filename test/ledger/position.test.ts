import { sql } from 'kysely';
import { transact } from '../../src/database/transaction.ts';
import { lockLedger, transactOnLedger } from '../../src/ledger/position.ts';
import { decideStart } from '../../src/ledger/start-decisions.ts';
import { censusOf, person, stage } from '../census/parts.ts';
import { scratch } from '../database/scratch.ts';
import { report } from '../employment/stage.ts';
import { startApplying } from '../inbox/applying.ts';
import { deduction } from '../inbox/bodies.ts';
import { setClock } from '../outbox/parts.ts';
import { ACTING } from '../support/audit.ts';
import { liftTimeLimits, onPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

/** Every writer reaches its lock within this time. */
const LOOKS = 30;

onPostgres('a process has at most one connection that waits for the ledger', async (t) => {
  const { db, loop, store } = await startApplying(t);
  await store(deduction('a'));
  const release = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  const holding = transact(db, async (trx) => {
    await liftTimeLimits(trx);
    await lockLedger(trx);
    isLocked.resolve();
    await release.promise;
  });
  await isLocked.promise;
  const decision = { deductionId: 'd', version: 1, decision: 'keep', reason: 'r' } as const;
  const writing = Promise.all([
    loop.runOnce(),
    report(db, 'termination', 'emp-1'),
    report(db, 'termination', 'emp-2'),
    stage(db, setClock(), censusOf([person('emp-3')])),
    transactOnLedger(db, (trx) => decideStart(trx, decision, ACTING)),
  ]);
  const waiting = async () => {
    const { rows } = await sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    return rows.length;
  };
  await eventually('the first one waits', waiting, (count) => count > 0);
  for (let looks = 0; looks < LOOKS; looks += 1) t.equal(await waiting(), 1);
  release.resolve();
  await holding;
  t.match(await writing, [{ applied: 1 }, String, String, { ok: true }, { outcome: 'unknown' }]);
});

onPostgres('a writer of the ledger waits for a limited time, and the next one still writes', async (t) => {
  const { db } = await scratch(t);
  const release = Promise.withResolvers<void>();
  const first = transactOnLedger(db, () => release.promise);
  await t.rejects(
    transactOnLedger(db, async () => t.fail('it gave up'), 1),
    { code: 'LOCK_TIMEOUT' },
  );
  const third = transactOnLedger(db, async () => 'written');
  release.resolve();
  await first;
  t.equal(await third, 'written');
});

onPostgres('a failed transaction does not block the next one', async (t) => {
  const { db } = await scratch(t);
  const failing = transactOnLedger(db, async () => {
    throw new Error('content');
  });
  const next = transactOnLedger(db, async () => 'written');
  await t.rejects(failing, /content/);
  t.equal(await next, 'written');
});
