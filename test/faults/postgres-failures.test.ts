/**
 * The long form of test/faults/postgres-sidecars.test.ts: three sidecars on one PostgreSQL, with repeated
 * failures.
 */
import t from 'tap';
import { seededRandom } from '../../src/simulator/random.ts';
import { useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, type Event, eventOf } from '../support/load.ts';
import { cutRound, killRound, readyz, restartRound } from '../support/postgres-rounds.ts';
import { SEED } from '../support/seeded.ts';
import type { Instance } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';
import { deadlocks, setThree } from '../support/three.ts';

const server = await useOwnPostgres();
t.setTimeout(600_000);

/** A query without a response is canceled after 12 s, and a connection attempt after 3 s. */
const SILENT_MS = 17_000;
const STOPS_WITHIN_MS = 11_000;

t.test('three sidecars on one database', async (t) => {
  const three = await setThree(t);
  const { stage, all, wire, db } = three;
  const [, , third] = all;
  const secret = stage.keys.webhookSecret;
  await Promise.all(all.map((one) => one.start()));

  for (const [round, how] of (['stop', 'crash', 'stop', 'crash'] as const).entries()) {
    await t.test(`PostgreSQL goes away (${how}) and comes back`, (t) =>
      restartRound(t, three, server, how, `away-${round}`),
    );
  }

  for (const how of ['before', 'after'] as const) {
    await t.test(`60 connections are cut ${how} a commit`, (t) => cutRound(t, three, how, `cut-${how}`, 60));
  }

  const random = seededRandom('victims', SEED);
  for (let round = 1; round <= 12; round += 1) {
    const victim = all[Math.floor(random() * all.length)] as Instance;
    await t.test('one of them is killed, and starts again', async (t) => {
      await killRound(t, three, victim, `killed-${round}`);
      await victim.start();
      t.equal(await readyz(victim), 200);
    });
  }
  t.equal(await deadlocks(db), 0);

  await t.test('a silent network is detected in bounded time, and recovery is complete', async (t) => {
    const sent: Event[] = [];
    wire.silent = true;
    const began = performance.now();
    for (let index = 0; performance.now() - began < SILENT_MS; index += 1) {
      const event = eventOf('silent', index);
      sent.push(event);
      const asked = performance.now();
      const { status } = await deliver(third.sidecar.port, secret, event);
      t.equal(status, 503);
      t.ok(
        performance.now() - asked < stretched(SILENT_MS),
        `rejected after ${Math.round(performance.now() - asked)} ms`,
      );
      t.equal((await fetch(`${third.sidecar.receiver}/livez`)).status, 200);
    }
    t.equal(await readyz(third), 503);
    wire.silent = false;
    await eventually(
      'it is ready again',
      () => readyz(third),
      (status) => status === 200,
      stretched(SILENT_MS),
    );
    for (const event of sent) t.equal((await deliver(third.sidecar.port, secret, event)).status, 204);
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
