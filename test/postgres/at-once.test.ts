/** Concurrent transactions on the same rows, which SQLite's one write lock prevents. */
import { sql } from 'kysely';
import { Client } from 'pg';
import t, { type Test } from 'tap';
import { requestSync } from '../../src/census/syncs.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { reprocessEvent } from '../../src/inbox/events.ts';
import { createWorkListStart } from '../../src/inbox/work-list.ts';
import { ledgerHead, lockLedger, moveLedger } from '../../src/ledger/position.ts';
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
import { type Applying, type Body, startApplying } from '../inbox/applying.ts';
import { deduction, syncBody } from '../inbox/bodies.ts';
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

const sync = (name: string): Body => [name, syncBody('sync-request', name)];

/** Runs a statement that the server cancels. */
async function runTooLong(trx: Trx): Promise<void> {
  await sql`set local statement_timeout = 20`.execute(trx);
  await sql`select pg_sleep(60)`.execute(trx);
}

t.test('a batch that times out is applied in smaller and smaller halves', async (t) => {
  const aborting = new AbortController();
  const asked = new WeakMap<Trx, number>();
  const { store, loop, states, ledger, applied, logged } = await startApplying(t, {
    effects: {
      requestSync: async (trx) => {
        asked.set(trx, (asked.get(trx) ?? 0) + 1);
        if (asked.get(trx) === 3) await runTooLong(trx);
      },
    },
    onApplied: () => applied.length === 4 && aborting.abort(),
  });
  const syncs = Array.from({ length: 8 }, (_, index) => `sync-${index}`);
  await store(...syncs.map(sync), deduction('a'));
  await loop.run(aborting.signal);
  const sizes = applied.map((one) => one.applied);
  t.strictSame(sizes, [2, 2, 2, 3], '8 and 4 time out, also 4 after 2 succeeded');
  const all = [...syncs, 'a'].map((name) => `${name}: applied`);
  t.strictSame(await states(), all);
  t.strictSame(await ledger(), ['a']);
  t.match(logged[0], /^events could not be applied: trying again .*57014/);
});

t.test('an event that times out alone is quarantined, and later ones are applied', async (t) => {
  const aborting = new AbortController();
  let tries = 0;
  const { store, loop, states, differences, ledger } = await startApplying(t, {
    effects: {
      requestSync: async (trx, { employerId }) => {
        if (employerId !== 'slow') return;
        tries += 1;
        await runTooLong(trx);
      },
    },
    onApplied: async () => (await states()).every((state) => !state.endsWith('pending')) && aborting.abort(),
  });
  await store(deduction('a'), sync('slow'), sync('quick'), deduction('b'));
  await loop.run(aborting.signal);
  t.strictSame(await states(), [
    'a: applied',
    'slow: quarantined applying it timed out 3 times in a row (57014): reprocess it after an upgrade, or dismiss it',
    'quick: applied',
    'b: applied',
  ]);
  t.strictSame(await differences(), [], 'verify accepts its reason');
  t.strictSame(await ledger(), ['a', 'b']);
  t.equal(tries, 6, 'three times in a batch, three times alone');
});

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

/** A connection of a foreign program with an open transaction. */
async function inTransaction(t: Test, url: string, begin: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  t.teardown(() => client.end());
  await client.query(begin);
  return client;
}

async function apply({ store, loop }: Applying, events: readonly string[]): Promise<void> {
  await store(...events.map(deduction));
  loop.wake(events.length);
  for (let applied = 0; applied < events.length; ) applied += (await loop.runOnce()).applied;
}

/** Runs the loop until an event is applied. */
async function appliedIn({ loop, states }: Applying, eventId: string): Promise<void> {
  const ran = async () => {
    await loop.runOnce();
    return (await states()).includes(`${eventId}: applied`);
  };
  await eventually(`${eventId} is applied`, ran, true);
}

/** Returns the pages that the server read to execute a statement. */
async function pagesOf(explained: Promise<unknown>): Promise<number> {
  const [row] = (await explained) as [{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }];
  const { Plan: plan } = row['QUERY PLAN'][0];
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

/** Returns the server's count of inbox reads since its last report. */
async function inboxPagesRead(trx: Trx): Promise<{ pid: number; pages: number }> {
  const { rows } = await sql<{ pid: number; pages: number }>`
    select pg_backend_pid() as pid, pg_stat_get_xact_blocks_fetched('inbox'::regclass) as pages`.execute(trx);
  return rows[0] as { pid: number; pages: number };
}

t.test('a held snapshot does not make a batch read applied events', async (t) => {
  const read: { pid: number; pages: number }[] = [];
  const requestSync = async (trx: Trx) => void read.push(await inboxPagesRead(trx));
  const applying = await startApplying(t, { effects: { requestSync } });
  const { db, commits, store, loop } = applying;
  const holder = await inTransaction(t, commits.url, 'begin isolation level repeatable read');
  await holder.query('select count(*) from inbox');
  await apply(applying, names('many', 2_000));
  for (let moved = 0; moved < 1_000; moved += 1)
    await transact(db, async (trx) => moveLedger(trx, await lockLedger(trx)));
  const start = createWorkListStart(db);
  const newest = await eventually('the start is up to date', start.find, 2_000);
  const pending = db.selectFrom('inbox').select('seq').where('state', '=', sql.lit('pending')).orderBy('seq');
  const analyze = sql`analyze, buffers`;
  const all = await pagesOf(pending.explain('json', analyze));
  t.ok(all > 100, `${all} pages from the beginning: the snapshot keeps the entries`);
  const fromTheStart = await pagesOf(pending.where('seq', '>', newest).explain('json', analyze));
  t.ok(fromTheStart < 10, `${fromTheStart} pages from the start`);
  const pagesOfBatch = async () => {
    for (const name of [`sync-${read.length}`, `sync-${read.length + 1}`]) {
      await store([name, syncBody('sync-request')]);
      loop.wake(1);
      await loop.runOnce();
    }
    const [one, next] = read.slice(-2) as [(typeof read)[0], (typeof read)[0]];
    return one.pid === next.pid ? next.pages - one.pages : null;
  };
  const isFew = (pages: number | null) => pages !== null && pages > 0 && pages < 50;
  await eventually('a batch of the loop reads as little', pagesOfBatch, isFew);
  // A connection may reuse a gap in an older page, so the current version is at the end only after some updates.
  const pagesOfHead = async () => {
    await transact(db, async (trx) => moveLedger(trx, await lockLedger(trx)));
    return pagesOf(ledgerHead(db).explain('json', analyze));
  };
  await eventually('ledger_head is found at the end of its index', pagesOfHead, (pages) => pages < 5);
  const scans = await transact(db, async (trx) => {
    await moveLedger(trx, await lockLedger(trx));
    const { rows } = await sql<{ scans: number }>`
      select seq_scan as scans from pg_stat_xact_user_tables where relname = 'ledger_head'`.execute(trx);
    return rows[0]?.scans;
  });
  t.equal(scans, 0, 'an update does not read every version of ledger_head');
});

t.test('an event committed after newer ones were applied is applied', async (t) => {
  const applying = await startApplying(t);
  const { db, commits, loop } = applying;
  const slow = await inTransaction(t, commits.url, 'begin');
  const [eventId, body] = deduction('slow');
  await slow.query(
    `insert into inbox (event_id, source, received_at, body, state) values ($1, 'webhook', $2, $3, 'pending')`,
    [eventId, '2026-03-01T12:00:00.000Z', Buffer.from(body as string)],
  );
  await apply(applying, names('quick', 10));
  const start = createWorkListStart(db);
  t.equal(await start.find(), 11, 'the start is after its seq');
  t.strictSame(await loop.runOnce(), { applied: 0, ignored: 0, quarantined: 0, syncsRequested: 0 });
  await slow.query('commit');
  await appliedIn(applying, 'slow');
});

t.test('an event set back to pending by another process is applied again, however old', async (t) => {
  const applying = await startApplying(t);
  const { db, commits, states } = applying;
  await apply(applying, names('e', 10));
  const start = createWorkListStart(db);
  await eventually('the start is after all events', start.find, 10);
  await transact(commits.other, (trx) => reprocessEvent(trx, 'e3', ACTING));
  await eventually('a look back finds it', start.find, 3);
  t.ok((await states()).includes('e3: pending'));
  await appliedIn(applying, 'e3');
  await eventually('the start is after all events again', start.find, 10);
  await transact(commits.other, (trx) => reprocessEvent(trx, 'e5', ACTING));
  start.lookBack();
  t.equal(await start.find(), 5, 'immediately after lookBack');
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
