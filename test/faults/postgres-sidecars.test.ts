/** Several sidecars on one PostgreSQL behave like one, even if a sidecar or the database fails. */
import { sql } from 'kysely';
import t from 'tap';
import { type LoopName, listenForWakes } from '../../src/database/notifier.ts';
import { useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { eventOf } from '../support/load.ts';
import { cutRound, killRound, readyz, restartRound } from '../support/postgres-rounds.ts';
import type { Instance } from '../support/stage.ts';
import { stopWhen } from '../support/stop-when.ts';
import { stretched } from '../support/stretched.ts';
import { deadlocks, nameOf, nothingPending, setThree } from '../support/three.ts';

const server = await useOwnPostgres();
t.setTimeout(600_000);

const STOPS_WITHIN_MS = 10_000;

t.test('three sidecars on one database', async (t) => {
  const three = await setThree(t);
  const { stage, all, db } = three;

  await t.test('migrate an empty database once when they start together', async (t) => {
    await Promise.all(all.map((one) => one.start()));
    const migrated = all.flatMap(({ sidecar }) =>
      sidecar.logged().filter(({ msg }) => msg === 'migrated the database'),
    );
    const rows = await db.selectFrom('migrations').select('number').orderBy('number').execute();
    t.match(migrated, [{ count: rows.length }]);
    for (const [index, { number }] of rows.entries()) t.equal(number, index + 1);
  });

  await t.test('receive concurrently, and each shows the same feed without gaps', async (t) => {
    const loads = three.load('concurrent', all, { connections: 8, events: 400 });
    await Promise.all(loads.map(({ ended }) => ended));
    t.strictSame(await three.settle(loads, stage), [], 'nothing was refused');
    t.equal(three.acknowledged.size, 1_200);
    t.strictSame(await three.judge(), []);
    const [first = [], ...others] = await Promise.all(all.map(feedOf));
    t.equal(first.length, 1_140, 'the remaining events are sync requests');
    t.ok(first.every(({ position }, index) => position === index + 1));
    for (const feed of others) t.strictSame(feed, first);
  });

  await t.test('notify each other of new work', async (t) => {
    const calls: LoopName[] = [];
    const stop = new AbortController();
    const ended = listenForWakes(stage.databaseUrl, (call) => calls.push(call), stop.signal);
    await eventually('the test receives the notification too', () => calls.splice(0).length, Boolean);
    const reprocessed = await all[1].api.call('POST', '/v1/events/msg_concurrent-0_0/reprocess');
    t.equal(reprocessed.status, 202);
    await eventually('an event is pending', () => calls.splice(0).includes('apply'), true);
    const employer = '/v1/employers/employer-4';
    t.equal((await all[1].api.call('PUT', `${employer}/pay-schedules/2026`, { schedules: [] })).status, 200);
    t.equal((await all[1].api.call('POST', `${employer}/census/sync`)).status, 202);
    await eventually('a request is pending', () => calls.splice(0).includes('send'), true);
    stop.abort();
    await ended;
    await nothingPending(db);
  });

  await t.test('logged no errors', async (t) => {
    t.equal(await deadlocks(db), 0);
    for (const { sidecar } of all) t.strictSame(sidecar.logged('error', 'fatal'), []);
  });

  for (const how of ['before', 'after'] as const) {
    await t.test(`acknowledge only stored events when connections are cut ${how} commits`, (t) =>
      cutRound(t, three, how, `cut-${how}`),
    );
  }

  await t.test('respond 503 while PostgreSQL is away, and recover when it is back', async (t) =>
    restartRound(t, three, server, 'stop', 'restart'),
  );

  await t.test('keep applying while one is stopped during a batch', async (t) => {
    const [, second, third] = all;
    const others = [stage, third];
    const loads = three.load('paused', all, { connections: 4 });
    await Promise.all(loads.map((load) => load.reached(50)));
    await stopWhileApplying(second, nameOf(1));
    const stopped = performance.now();
    const acknowledged = loads.map((load) => load.acknowledged.size);
    await Promise.all([0, 2].map((index) => loads[index]?.reached((acknowledged[index] as number) + 100)));
    await Promise.all([0, 2].map((index) => loads[index]?.stop()));
    const ids = [0, 2].flatMap((index) => [...(loads[index]?.acknowledged.keys() ?? [])]);
    const pending = db.selectFrom('inbox').select('event_id').where('state', '=', 'pending');
    const left = () => pending.where('event_id', 'in', ids).limit(1).execute();
    await eventually('the others have applied what they stored', left, { length: 0 });
    const tookMs = Math.round(performance.now() - stopped);
    t.ok(tookMs > 3_000 && tookMs < stretched(10_000), `applied ${tookMs} ms after the applier was stopped`);

    second.sidecar.signal('SIGCONT');
    await loads[1]?.stop();
    t.equal((await second.send(eventOf('continued', 0))).status, 204);
    await three.settle(loads, others[0] as Instance);
    t.strictSame(await three.judge(), []);
    t.equal(await readyz(second), 200);
  });

  await t.test('continue when one is killed under load', (t) => killRound(t, three, all[1], 'killed'));

  await t.test('stop in time, even while PostgreSQL is down', async (t) => {
    t.equal(await stage.sidecar.end('SIGTERM'), 0);
    await server.stop();
    const began = performance.now();
    t.equal(await all[2].sidecar.end('SIGTERM'), 0);
    const tookMs = Math.round(performance.now() - began);
    t.ok(tookMs < stretched(STOPS_WITHIN_MS), `it ended in ${tookMs} ms`);
  });

  /** Stops it while it has the lock on the ledger and waits for nothing, so in the middle of its own work. */
  async function stopWhileApplying({ sidecar }: Instance, name: string): Promise<void> {
    const isApplying = async (): Promise<boolean> => {
      const { rows } = await sql`
        select 1 from pg_stat_activity join pg_locks using (pid)
        where application_name = ${name} and state = 'idle in transaction'
          and relation = 'ledger_head'::regclass and mode = 'RowShareLock' and granted`.execute(db);
      return rows.length > 0;
    };
    await stopWhen('it is stopped during a batch', sidecar, isApplying);
  }
});

/** Returns the whole feed, read like a payroll client: each page starts after the last position. */
async function feedOf({ api }: Instance): Promise<{ position: number }[]> {
  const feed: { position: number }[] = [];
  for (;;) {
    const { data } = await api.get(`/v1/deduction-versions?limit=500&cursor=${feed.at(-1)?.position ?? 0}`);
    if (data.length === 0) return feed;
    feed.push(...data);
  }
}
