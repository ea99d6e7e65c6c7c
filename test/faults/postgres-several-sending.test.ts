/** Several sidecars on one database send at the same time. */
import { sql } from 'kysely';
import t from 'tap';
import { requestSync } from '../../src/census/syncs.ts';
import { sharedClock } from '../../src/database/engine.ts';
import { transact, transactionsRetried } from '../../src/database/transaction.ts';
import { pauseSending, readCircuitBreaker, reserveProbe } from '../../src/outbox/circuit-breaker.ts';
import { LEASE_MS } from '../../src/outbox/claims.ts';
import { employeeSubject, nextRequestsOf, updateFronts } from '../../src/outbox/queue.ts';
import { type Log, silentLog } from '../../src/telemetry/log.ts';
import { open, scratch } from '../database/scratch.ts';
import { owe, request, sendLoop, setClock } from '../outbox/parts.ts';
import { json, stubService } from '../outbox/stub-service.ts';
import { useOwnPostgres } from '../support/engine.ts';

await useOwnPostgres();

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The database's clock, independent of the process's clock, as in a sidecar. */
const clocks = [-2 * DAY_MS, 2 * DAY_MS].map((ms) => setClock(new Date(Date.now() + ms)));
const shared = clocks.map((clock) => ({ sharedNow: sharedClock(clock) }));

t.test('senders with clocks days apart respect claims of each other', async (t) => {
  const { db, url: database } = await scratch(t);
  const dbs = [db, open(t, database)];
  const { url, received } = await stubService(t, async (response, _, index) => {
    const lease = Date.parse((await request(db, 'r-1')).lease_expires_at as string) - Date.now();
    t.ok(Math.abs(lease - LEASE_MS) < HOUR_MS, `by the database's clock the lease ends in ${lease} ms`);
    for (const loop of loops) t.strictSame(Object.values(await loop.runOnce()).filter(Boolean), []);
    json(response, index === 0 ? 503 : 200);
  });
  const loops = dbs.map((each, index) => sendLoop(t, each, url, clocks[index]!, shared[index]));
  await owe(db, 'r-1', 'e-1');
  t.equal((await loops[0]!.runOnce()).retry, 1);
  const { due_at, attempts } = await request(db, 'r-1');
  const wait = Date.parse(due_at) - Date.now();
  t.ok(Math.abs(wait) < HOUR_MS, `it is due again in ${wait} ms, by the same clock`);
  t.equal(attempts, 1);
  const due = new Date(Date.now() + HOUR_MS).toISOString();
  await db.updateTable('outbox').set({ due_at: due }).execute();
  t.equal((await loops[1]!.runOnce()).delivered, 0, 'it is due for neither sender');
  t.equal(received.length, 1);
});

t.test('two senders send each request once, in order per subject', async (t) => {
  const { db, url: database } = await scratch(t);
  const subjects = 30;
  const each = 5;
  const before = transactionsRetried();
  const done = Promise.withResolvers<void>();
  const { url, received } = await stubService(t, (response) => {
    setImmediate(() => json(response, 200));
    if (received.length === subjects * each) done.resolve();
  });
  for (let n = 0; n < subjects * each; n += 1) await owe(db, `r-${n}`, `e-${n % subjects}`);
  const dbs = [db, open(t, database)];
  const failed: string[] = [];
  const log: Log = { ...silentLog, error: (_, message) => failed.push(message) };
  const loops = dbs.map((one, index) => sendLoop(t, one, url, clocks[index]!, { ...shared[index], log }));
  const stop = new AbortController();
  const running = loops.map((loop) => loop.run(stop.signal));
  await done.promise;
  stop.abort();
  await Promise.all(running);

  const sent = received.map(({ headers }) => Number(String(headers['idempotency-key']).slice(2)));
  t.equal(new Set(sent).size, subjects * each);
  t.equal(sent.length, subjects * each);
  for (let subject = 0; subject < subjects; subject += 1) {
    const own = sent.filter((n) => n % subjects === subject);
    t.strictSame(
      own,
      [...own].sort((one, other) => one - other),
      `in order: ${own}`,
    );
  }
  const rows = await db.selectFrom('outbox').select(['state', 'attempts']).execute();
  t.ok(rows.every(({ state, attempts }) => state === 'delivered' && attempts === 1));
  t.equal(transactionsRetried() - before, 0, 'no deadlock occurred');
  t.strictSame(failed, [], 'no claim was contested');
});

/** As many as there are connections, because a query without a connection is rejected after 3 s. */
const AT_ONCE = 20;

t.test('concurrent requests for one census create one upload', async (t) => {
  const { db, url } = await scratch(t);
  const dbs = [db, open(t, url)];
  const now = new Date().toISOString();
  const employers = ['a', 'b', 'c'];
  await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) =>
      transact(dbs[n % dbs.length]!, (trx) =>
        requestSync(trx, { employerId: employers[n % employers.length]!, eventId: `event-${n}`, now }),
      ),
    ),
  );
  const uploads = await db
    .selectFrom('outbox')
    .select(['request_id', 'subject_type', 'subject_id', 'is_next'])
    .orderBy('subject_id')
    .execute();
  t.match(uploads, [
    { subject_type: 'employer', subject_id: 'a', is_next: 1 },
    { subject_type: 'employer', subject_id: 'b', is_next: 1 },
    { subject_type: 'employer', subject_id: 'c', is_next: 1 },
  ]);
  t.equal(uploads.length, 3);
  const syncs = await db.selectFrom('census_syncs').select(['employer_id', 'request_id']).execute();
  t.equal(syncs.length, AT_ONCE);
  const owed = new Map(uploads.map(({ subject_id, request_id }) => [subject_id, request_id]));
  t.ok(
    syncs.every((sync) => owed.get(sync.employer_id) === sync.request_id),
    'all syncs wait for it',
  );
});

t.test('while sending is paused one sender probes at a time', async (t) => {
  const { db, url: database } = await scratch(t);
  let isFixed = false;
  const { url, received } = await stubService(t, async (response) => {
    // Both look several times while the probe is in flight.
    for (let look = 0; look < 3; look += 1) await Promise.all(loops.map((loop) => loop.runOnce()));
    json(response, isFixed ? 200 : 401);
  });
  const dbs = [db, open(t, database)];
  const loops = dbs.map((one, index) => sendLoop(t, one, url, clocks[index]!, shared[index]));
  for (let n = 0; n < 20; n += 1) await owe(db, `r-${n}`, `e-${n}`);
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', new Date()));
  for (let probe = 1; probe <= 3; probe += 1) {
    await transact(db, (trx) => reserveProbe(trx, new Date()));
    await Promise.all(loops.flatMap((loop) => [loop.runOnce(), loop.runOnce()]));
    t.equal(received.length, probe);
    t.match(await readCircuitBreaker(db), { state: 'paused', probe_count: probe });
  }
  isFixed = true;
  await transact(db, (trx) => reserveProbe(trx, new Date()));
  await Promise.all(loops.map((loop) => loop.runOnce()));
  t.match(await readCircuitBreaker(db), { state: 'active' });
  t.equal(received.length, 4, 'one more for the successful probe');
});

t.test('claiming reads a constant number of rows at any backlog', async (t) => {
  const { db } = await scratch(t);
  await owe(db, 'r-1', 'e-1');
  // Delivered requests, and a backlog of many subjects.
  await sql`insert into outbox (request_id, kind, subject_type, subject_id, state, is_next, due_at, created_at, finished_at)
    select 'd-' || n, 'demographic', 'employee', (n % 5000)::text, 'delivered', 0, '2026', '2026', '2026'
      from generate_series(1, 20000) n
    union all select 'p-' || n, 'demographic', 'employee', (n % 2500)::text, 'pending', 0, '2026', '2026', null
      from generate_series(1, 5000) n`.execute(db);
  await sql`analyze outbox`.execute(db);
  const plan = async (query: ReturnType<typeof sql<{ 'QUERY PLAN': string }>>) =>
    (await query.execute(db)).rows.map((row) => row['QUERY PLAN']).join('\n');
  const due = await plan(sql`explain select request_id from outbox
    where state = 'pending' and is_next = 1 and due_at <= ${'2027'} order by due_at, seq limit ${8} for update skip locked`);
  t.match(due, /Index Scan using outbox_claimable/);
  t.notMatch(due, /Sort/);
  const next = await plan(sql`explain select seq from outbox
    where subject_type = ${'employee'} and subject_id >= ${'7'} and finished_at is null order by subject_id, seq limit 1`);
  t.match(next, /outbox_unfinished/);
});

t.test("an employee's thousands of delivered requests are not read to find the next request", async (t) => {
  const { db } = await scratch(t);
  // All rows belong to one employee, so the planner expects that any row matches.
  await sql`insert into outbox (request_id, kind, subject_type, subject_id, state, is_next, due_at, created_at, finished_at)
    select 'r-' || n, 'demographic', 'employee', '1', case when n > 20000 then 'pending' else 'delivered' end, 0,
      '2026', '2026', case when n > 20000 then null else '2026' end from generate_series(1, 22000) n`.execute(
    db,
  );
  await sql`analyze outbox`.execute(db);
  await transact(db, (trx) => updateFronts(trx, [employeeSubject('1'), employeeSubject('2')]));
  const fronts = await db.selectFrom('outbox').select('request_id').where('is_next', '=', 1).execute();
  t.strictSame(fronts, [{ request_id: 'r-20001' }]);
  await transact(db, async (trx) => {
    const { rows } = await sql<{
      'QUERY PLAN': string;
    }>`explain (analyze, buffers) ${nextRequestsOf('employee', ['1'])}`.execute(trx);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    t.match(plan, /using outbox_unfinished/);
    t.notMatch(plan, /outbox_pkey|Rows Removed/);
  });
});
