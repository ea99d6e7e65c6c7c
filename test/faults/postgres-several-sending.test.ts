/** Several sidecars on one database send at the same time. */
import { sql } from 'kysely';
import t from 'tap';
import { sharedClock } from '../../src/database/engine.ts';
import { transact } from '../../src/database/transaction.ts';
import { LEASE_MS } from '../../src/outbox/claims.ts';
import { employeeSubject, nextRequestsOf, updateFronts } from '../../src/outbox/queue.ts';
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
