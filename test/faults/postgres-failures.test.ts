/** Three sidecars on one PostgreSQL, one of them behind a network that falls silent. */
import t from 'tap';
import { onPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { type Event, eventOf } from '../support/load.ts';
import { readyz } from '../support/postgres-rounds.ts';
import { stretched } from '../support/stretched.ts';
import { setThree } from '../support/three.ts';

t.setTimeout(600_000);

/** A query without a response is canceled after 12 s, and a connection attempt after 3 s. */
const SILENT_MS = 17_000;
const STOPS_WITHIN_MS = 11_000;

onPostgres('three sidecars on one database', async (t) => {
  const three = await setThree(t);
  const { stage, all, wire } = three;
  const [, , third] = all;
  await Promise.all(all.map((one) => one.start()));

  await t.test('a silent network is detected in bounded time, and recovery is complete', async (t) => {
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

  await t.test('a sidecar stopped while the network is silent ends in time', async (t) => {
    const load = three.load('last', [third], { connections: 4 })[0];
    await load?.reached(50);
    wire.silent = true;
    const began = performance.now();
    t.comment(`it ended with ${await third.sidecar.end('SIGTERM')}`);
    const tookMs = Math.round(performance.now() - began);
    t.ok(tookMs < stretched(STOPS_WITHIN_MS), `it ended in ${tookMs} ms`);
    await load?.ended;
    await three.settle(load === undefined ? [] : [load], stage);
    t.strictSame(await three.judge(), []);
  });
});
