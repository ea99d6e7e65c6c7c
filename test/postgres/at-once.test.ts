/** Concurrent transactions on the same rows, which SQLite's one write lock prevents. */
import t, { type Test } from 'tap';
import { requestSync } from '../../src/census/syncs.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { REASON_COLUMNS } from '../../src/operations/reasons.ts';
import { claim } from '../../src/outbox/claims.ts';
import { retryManually } from '../../src/outbox/manual.ts';
import { voidRun } from '../../src/payroll/records/runs.ts';
import { lockPayroll } from '../../src/payroll/settings/lock.ts';
import { finalizeChecked, readinessOfRun } from '../../src/readiness/run-report.ts';
import { record, SYSTEM } from '../../src/security/audit.ts';
import { lockHead } from '../../src/security/audit-chain.ts';
import { ERASED, eraseReason } from '../../src/security/reasons.ts';
import { createToken } from '../../src/security/tokens.ts';
import { withDatabase } from '../cli/harness.ts';
import { scratch } from '../database/scratch.ts';
import { claimAs, owe, request, START } from '../outbox/parts.ts';
import { ACTING, acting } from '../support/audit.ts';
import { liftTimeLimits, lockWaits, usePostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deduct, NOW, putOn, QUESTION, readyEmployer, runOn } from '../support/payroll.ts';

usePostgres();

const TYPED = 'typed by a person';
const FINALIZING = { actor: SYSTEM, sharedNow: async () => NOW, question: QUESTION };

/** Claims due requests in one transaction, and does the work in another one, which has to wait for the first. */
async function whileClaiming<R>(db: Db, url: string, work: (trx: Trx) => Promise<R>) {
  const claimed = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const claiming = transact(db, async (trx) => {
    await liftTimeLimits(trx);
    const { claims } = await claim(trx, claimAs('a'), START);
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
    const waits = () => lockWaits(other);
    await Promise.race([both, eventually('one transaction waits', waits, (count) => count > 0)]);
    mayEnd.resolve();
    const [claims, ended] = await both;
    return { claims, ended };
  } finally {
    mayEnd.resolve();
    await other.destroy();
  }
}

t.test('a change retried while a newer one of its employee is being claimed waits for it', async (t) => {
  const { db, url } = await scratch(t);
  await owe(db, 'older', 'emp-1');
  const rejected = { state: 'rejected', is_next: 0, finished_at: START.toISOString() } as const;
  await transact(db, (trx) => trx.updateTable('outbox').set(rejected).execute());
  await owe(db, 'newer', 'emp-1');
  const { claims } = await whileClaiming(db, url, (trx) =>
    retryManually(trx, 'older', { force: false, ...acting(START) }),
  );
  t.match(claims, [{ requestId: 'newer' }]);
  t.match(await request(db, 'older'), { state: 'pending', is_next: 0 });
  t.match(await request(db, 'newer'), { state: 'sending', is_next: 1 });
});

t.test('a sync requested while the pending upload is being claimed gets its own upload', async (t) => {
  const { db, url } = await scratch(t);
  const ask = (eventId: string) => (trx: Trx) =>
    requestSync(trx, { employerId: 'employer-1', eventId, now: START.toISOString() });
  await transact(db, ask('first'));
  const { claims } = await whileClaiming(db, url, ask('second'));
  const requests = await db.selectFrom('outbox').select(['request_id', 'state']).orderBy('seq').execute();
  t.match(requests, [{ request_id: claims[0]?.requestId, state: 'sending' }, { state: 'pending' }]);
  const syncs = await db.selectFrom('census_syncs').selectAll().orderBy('event_id').execute();
  const [first, second] = requests;
  t.match(syncs, [
    { event_id: 'first', request_id: first?.request_id },
    { event_id: 'second', request_id: second?.request_id },
  ]);
  t.equal(syncs.length, 2);
});

/** Holds locks in a transaction of its own until they are released. */
async function holding(t: Test, url: string, lock: (trx: Trx) => Promise<unknown>) {
  const other = openDatabase(url);
  t.teardown(() => other.destroy());
  const [isHeld, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = transact(other, async (trx) => {
    await liftTimeLimits(trx);
    await lock(trx);
    isHeld.resolve();
    await mayEnd.promise;
  });
  await Promise.race([isHeld.promise, held]);
  return {
    waiting: (count: number) =>
      eventually(
        `${count} wait`,
        () => lockWaits(other),
        (waits) => waits >= count,
      ),
    release: () => {
      mayEnd.resolve();
      return held;
    },
  };
}

t.test('two erasures of a reason at once leave one record', async (t) => {
  const { db, url } = await scratch(t);
  const typed = { action: 'event.dismiss', resource: 'evt-1', reason: TYPED } as const;
  const id = await transact(db, (trx) => record(trx, ACTING, typed));
  const held = await holding(t, url, lockHead);
  const erase = () =>
    transact(db, async (trx) => {
      await liftTimeLimits(trx);
      return eraseReason(trx, id, { ...ACTING, reason: 'a test' }, REASON_COLUMNS);
    });
  const both = Promise.all([erase(), erase()]);
  await Promise.race([both, held.waiting(2)]);
  await held.release();
  t.strictSame((await both).sort(), ['erased', 'no-reason']);
  const erasures = db.selectFrom('audit_records').select('record_id').where('action', '=', 'reason.erase');
  t.equal((await erasures.execute()).length, 1);
});

t.test('a token is not revoked while a run may become final by its approval', async (t) => {
  const { env, db, cli } = await withDatabase(t);
  await transact(db, (trx) =>
    createToken(trx, { name: 'ann', scopes: ['runs:read'], expiresAt: null, now: START, actor: SYSTEM }),
  );
  const finalizing = await holding(t, env.DATABASE_URL as string, lockPayroll);
  const revoking = cli('token revoke ann --yes');
  const first = await Promise.race([revoking, finalizing.waiting(1)]);
  t.equal(first, 1, 'the revocation waits');
  await finalizing.release();
  t.match(await revoking, { code: 0 });
});

/** What changes or repeats a reason while it is erased. */
const AT_ONCE: Record<string, (db: Db, begin: () => void) => Promise<unknown>> = {
  'its run is voided': (db, begin) =>
    transact(db, (trx) => {
      begin();
      return voidRun(trx, '2026-07-17', { reason: 'paid by hand', ...ACTING });
    }),
  'another run that repeats it is finalized': async (db, begin) => {
    begin();
    const ifMatch = (await readinessOfRun(db, runOn('2026-07-31'), '2026-07-31', QUESTION)).etag;
    return finalizeChecked(db, '2026-07-31', { ...FINALIZING, ifMatch, accept: null });
  },
};

for (const [what, work] of Object.entries(AT_ONCE)) {
  t.test(`a reason is erased without a deadlock while ${what}`, async (t) => {
    const { db, url } = await scratch(t);
    await readyEmployer(t, db);
    await deduct(db, 'evt-overlap', { id: 'ded-3', employee_id: 'emp-1', period: 'weekly' });
    await putOn(db, '2026-07-17');
    const { etag } = await readinessOfRun(db, runOn('2026-07-17'), '2026-07-17', QUESTION);
    const accept = { checks: ['overlap'], reason: TYPED };
    t.match(await finalizeChecked(db, '2026-07-17', { ...FINALIZING, ifMatch: etag, accept }), {
      outcome: 'finalized',
    });
    await putOn(db, '2026-07-31');
    const records = db.selectFrom('audit_records').select('record_id').where('reason', '=', TYPED);
    const { record_id } = await records.executeTakeFirstOrThrow();
    const held = await holding(t, url, lockHead);
    let attempts = 0;
    const begin = () => {
      attempts += 1;
    };
    const erasing = transact(db, async (trx) => {
      begin();
      await liftTimeLimits(trx);
      return eraseReason(trx, record_id, { ...ACTING, reason: 'a test' }, REASON_COLUMNS);
    });
    await held.waiting(1);
    const working = work(db, begin);
    const all = Promise.all([erasing, working]);
    await Promise.race([all, held.waiting(2)]);
    await held.release();
    const [erased] = await all;
    t.equal(erased, 'erased');
    t.equal(attempts, 2, 'the server ends neither');
    const kept = await db.selectFrom('accepted_findings').select('reason').execute();
    t.strictSame([...new Set(kept.map(({ reason }) => reason))], [ERASED]);
  });
}
