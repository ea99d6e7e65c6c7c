/** Load from other users of the database does not delay acknowledgments or block the event loop. */
import { sqlitePath } from '../../src/database/open.ts';
import { startChild } from '../database/child.ts';
import { engineOf, onEachEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';

/** With this many deductions and versions, computing a page takes the API some time. */
const SEEDED_EVENTS = 3_000;
/** Far above the measured value (npm run bench). Exceeded only if a query blocks other queries. */
const P99_MS = 500;
/** If livez responds later than this, the event loop was blocked. */
const STILL_MS = 1_000;

onEachEngine('under load from other users of the database', async (t) => {
  const stage = await setStage(t);
  const { api, databaseUrl, send } = stage;
  const { receiver } = stage.sidecar;
  const seeding = stage.load('seed', { events: SEEDED_EVENTS });
  await seeding.ended;
  t.equal(seeding.acknowledged.size, SEEDED_EVENTS);
  await stage.settled();

  await t.test('ledger queries in a loop do not delay acknowledgements', async (t) => {
    const load = stage.load('queried', { connections: 8 });
    let queries = 0;
    while (load.acknowledged.size < 1_000) {
      const paths = [
        '/v1/deduction-versions?limit=1000',
        '/v1/deductions?on=2026-06-30&limit=1000',
        '/v1/readiness',
      ];
      await Promise.all(paths.map(api.get));
      queries += paths.length;
    }
    await load.stop();
    t.strictSame([...load.refusals], []);
    const times = load.times.toSorted((a, b) => a - b);
    const p99 = Math.round(times[Math.floor(times.length * 0.99)] as number);
    t.ok(p99 < stretched(P99_MS), `p99 ${p99} ms during ${queries} queries`);
  });

  // PostgreSQL has no lock on the whole database.
  if (engineOf(t) === 'postgres') return;
  await t.test('deliveries get 503 while another process holds the write lock', async (t) => {
    await stage.settled();
    const holder = startChild(t, 'child-holds-lock.ts', sqlitePath(databaseUrl));
    t.equal(await holder.line(), 'held');
    const events = Array.from({ length: 20 }, (_, index) => eventOf('locked', index));
    const began = performance.now();
    let waiting = true;
    const looks: number[] = [];
    const statuses = new Set<number>();
    const looking = (async () => {
      while (waiting) {
        const asked = performance.now();
        statuses.add((await fetch(`${receiver}/livez`)).status);
        looks.push(performance.now() - asked);
      }
    })();
    const [answers, written, read, ready] = await Promise.all([
      Promise.all(events.map(send)),
      api.call('PUT', '/v1/employers/employer-4/pay-schedules/2026', { schedules: [] }),
      api.call('GET', '/v1/deductions/ded-1'),
      fetch(`${receiver}/readyz`),
    ]);
    const tookMs = Math.round(performance.now() - began);
    waiting = false;
    await looking;
    for (const { status, headers } of answers)
      t.match({ status, headers }, { status: 503, headers: { 'retry-after': /\d+/ } });
    t.match(written, { status: 503, json: { status: 503 } });
    t.ok(written.headers.has('retry-after'));
    t.equal(read.status, 200, 'reading goes on');
    t.ok(tookMs > 2_500 && tookMs < stretched(8_000), `all responses took ${tookMs} ms`);
    t.strictSame([...statuses], [200]);
    const longest = Math.round(Math.max(...looks));
    const message = `livez responded ${looks.length} times, the slowest after ${longest} ms`;
    t.ok(longest < stretched(STILL_MS), message);
    t.equal(ready.status, 503, 'it cannot commit');

    holder.process.stdin?.end();
    t.equal(await holder.end(), 0);
    await eventually('it is ready again', async () => (await fetch(`${receiver}/readyz`)).status, 200);
    for (const event of events) t.equal((await send(event)).status, 204);
    await stage.settled();
    const acknowledged = [...seeding.acknowledged.values(), ...events];
    t.strictSame(await breaches({ databaseUrl, acknowledged }), []);
  });
});
