/** Several sidecars on one PostgreSQL behave like one, even if a sidecar or the database fails. */
import t from 'tap';
import { type LoopName, listenForWakes } from '../../src/database/notifier.ts';
import { useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { type Event, eventOf } from '../support/load.ts';
import { cutRound, readyz, restartRound } from '../support/postgres-rounds.ts';
import type { Instance } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';
import { deadlocks, nothingPending, setThree } from '../support/three.ts';

const server = await useOwnPostgres();
t.setTimeout(600_000);

/** A query without a response is canceled after 12 s, and a connection attempt after 3 s. */
const SILENT_MS = 17_000;
const STOPS_WITHIN_MS = 10_000;

t.test('three sidecars on one database', async (t) => {
  const three = await setThree(t);
  const { stage, all, db, wire } = three;
  const [, , third] = all;

  await Promise.all(all.map((one) => one.start()));

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
    const employer = '/v1/employers/employer-0';
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
    restartRound(t, three, server, 'restart'),
  );

  await t.test('respond 503 in bounded time while the network is silent, and recover', async (t) => {
    const sent: Event[] = [];
    wire.silent = true;
    const began = performance.now();
    for (let index = 0; performance.now() - began < SILENT_MS; index += 1) {
      const event = eventOf('silent', index);
      sent.push(event);
      const asked = performance.now();
      const { status } = await third.send(event);
      t.equal(status, 503);
      const tookMs = Math.round(performance.now() - asked);
      t.ok(tookMs < stretched(SILENT_MS), `rejected after ${tookMs} ms`);
      t.equal((await fetch(`${third.sidecar.receiver}/livez`)).status, 200);
    }
    t.equal(await readyz(third), 503);
    wire.silent = false;
    await eventually('it is ready again', () => readyz(third), 200, stretched(SILENT_MS));
    for (const event of sent) t.equal((await third.send(event)).status, 204);
    t.strictSame(await three.judge(), []);
  });

  await t.test('stop in time, even while PostgreSQL is down', async (t) => {
    t.equal(await stage.sidecar.end('SIGTERM'), 0);
    await server.stop();
    const began = performance.now();
    t.equal(await third.sidecar.end('SIGTERM'), 0);
    const tookMs = Math.round(performance.now() - began);
    t.ok(tookMs < stretched(STOPS_WITHIN_MS), `it ended in ${tookMs} ms`);
  });
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
