/** Concurrent transactions on the same rows, which SQLite's one write lock prevents. */
import { sql } from 'kysely';
import t from 'tap';
import { requestSync } from '../../src/census/syncs.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { claim } from '../../src/outbox/claims.ts';
import { retryManually } from '../../src/outbox/manual.ts';
import type { Claim } from '../../src/outbox/sender.ts';
import { scratch } from '../database/scratch.ts';
import { owe, START } from '../outbox/parts.ts';
import { acting } from '../support/audit.ts';
import { liftTimeLimits, usePostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

usePostgres();

/**
 * Claims due requests in one transaction, and does the work in another one, which has to wait for the first.
 */
async function whileClaiming<R>(
  db: Db,
  url: string,
  work: (trx: Trx) => Promise<R>,
): Promise<{ claims: Claim[]; ended: R }> {
  const claimed = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const claiming = transact(db, async (trx) => {
    await liftTimeLimits(trx);
    const wish = {
      owner: 'a',
      limit: 9,
      uploads: 9,
      inFlight: new Set<string>(),
      takesOver: true,
      senders: {},
    };
    const { claims } = await claim(trx, wish, START);
    claimed.resolve();
    await mayEnd.promise;
    return claims;
  });
  await Promise.race([claimed.promise, claiming]);
  const other = openDatabase(url);
  try {
    const working = transact(other, async (trx) => {
      await liftTimeLimits(trx);
      return work(trx);
    });
    // Both are awaited from here on, because an unhandled rejection would end the test file.
    const both = Promise.all([claiming, working]);
    await Promise.race([both, untilLockWait(other)]);
    mayEnd.resolve();
    const [claims, ended] = await both;
    return { claims, ended };
  } finally {
    mayEnd.resolve();
    await other.destroy();
  }
}

function untilLockWait(db: Db): Promise<unknown> {
  return eventually(
    'one transaction waits until its rival ends',
    async () => {
      const { rows } = await sql`
        select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
      return rows.length;
    },
    (waiting) => waiting > 0,
  );
}

t.test('a change retried while a newer one of its employee is being claimed waits for it', async (t) => {
  const { db, url } = await scratch(t);
  await owe(db, 'older', 'emp-1');
  const rejected = { state: 'rejected', is_next: 0, finished_at: START.toISOString() } as const;
  await transact(db, (trx) => trx.updateTable('outbox').set(rejected).execute());
  await owe(db, 'newer', 'emp-1');
  const { claims, ended } = await whileClaiming(db, url, (trx) =>
    retryManually(trx, 'older', { force: false, ...acting(START) }),
  );
  t.match(claims, [{ requestId: 'newer' }]);
  t.equal(ended, 'done');
  const requests = await db
    .selectFrom('outbox')
    .select(['request_id', 'state', 'is_next'])
    .orderBy('seq')
    .execute();
  t.strictSame(requests, [
    { request_id: 'older', state: 'pending', is_next: 0 },
    { request_id: 'newer', state: 'sending', is_next: 1 },
  ]);
});

t.test('a sync requested while the pending upload is being claimed gets its own upload', async (t) => {
  const { db, url } = await scratch(t);
  const ask = (eventId: string) => (trx: Trx) =>
    requestSync(trx, { employerId: 'employer-1', eventId, now: START.toISOString() });
  await transact(db, ask('first'));
  const { claims } = await whileClaiming(db, url, ask('second'));
  const requests = await db.selectFrom('outbox').select(['request_id', 'state']).orderBy('seq').execute();
  t.match(requests, [{ request_id: claims[0]?.requestId, state: 'sending' }, { state: 'pending' }]);
  const syncs = await db
    .selectFrom('census_syncs')
    .select(['event_id', 'request_id'])
    .orderBy('event_id')
    .execute();
  t.strictSame(syncs, [
    { event_id: 'first', request_id: requests[0]?.request_id },
    { event_id: 'second', request_id: requests[1]?.request_id },
  ]);
});
