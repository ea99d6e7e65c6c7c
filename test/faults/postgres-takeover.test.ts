/**
 * A sender on PostgreSQL dies or hangs past its lease: another one takes over, and only one of them finishes.
 */
import t, { type Test } from 'tap';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { type Front, startFront } from '../support/front.ts';
import { readyz } from '../support/postgres-rounds.ts';
import { syncIn } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';
import { setThree } from '../support/three.ts';

const EMPLOYER = 'maple-bakery';
const TAKEN_OVER_WITHIN_MS = 60_000;

await useOwnPostgres();
t.setTimeout(900_000);

/**
 * Starts three sidecars. The first is in an upload without a response; the others reach the service.
 */
async function inTheMiddle(t: Test) {
  let front = {} as Front;
  const three = await setThree(t, {
    before: async (url) => {
      front = await startFront(t, url, 'hang');
      return front.url;
    },
  });
  const { stage, all, db } = three;
  await stage.start();
  const census = makeWorld(DEFAULT_SEED).get(EMPLOYER);
  t.equal((await stage.api.call('PUT', `/v1/employers/${EMPLOYER}/census`, census)).status, 200);
  t.equal((await stage.api.call('POST', `/v1/employers/${EMPLOYER}/census/sync`)).status, 202);
  await eventually(
    'the upload hangs',
    () => front.met.get('hang'),
    (met) => met === 1,
  );
  const [, ...others] = all;
  for (const other of others) other.variables.BENEFITS_BASE_URL = stage.simulator.url;
  await Promise.all(others.map((other) => other.start()));
  return {
    three,
    front,
    others,
    outbox: () => db.selectFrom('outbox').selectAll().execute(),
    attempts: () => db.selectFrom('delivery_attempts').selectAll().orderBy('attempt').execute(),
  };
}

t.test('a claim whose sidecar was killed is taken over within 60 s, under the same key', async (t) => {
  const { three, outbox, attempts } = await inTheMiddle(t);
  const { stage, all } = three;
  const [owed] = await outbox();
  const began = performance.now();
  t.equal(await stage.sidecar.end('SIGKILL'), 'SIGKILL');
  await eventually(
    'another one has sent it',
    outbox,
    ([request]) => request?.state === 'delivered',
    stretched(TAKEN_OVER_WITHIN_MS),
  );
  t.comment(`taken over after ${Math.round((performance.now() - began) / 1_000)} s`);
  t.match(await attempts(), [
    { attempt: 1, status: null, reason: 'the sender stopped during the attempt' },
    { attempt: 2, status: 200 },
  ]);
  const [sent, ...more] = stage.simulator.requests();
  t.ok(sent?.idempotencyKey?.startsWith(`${owed?.request_id}:`));
  t.strictSame(more, []);
  // The service knows only the address of the first sidecar, which is gone, and retries until a receiver
  // listens there.
  await stage.start();
  await syncIn(all[1].api, EMPLOYER, 'completed');
});

t.test(
  'a sender that hangs past its lease changes nothing when it continues, and keeps working',
  async (t) => {
    const { three, front, others, outbox, attempts } = await inTheMiddle(t);
    const { stage, all } = three;
    const { simulator } = stage;
    const [owed] = await outbox();
    const written = async () => ({
      request: (await outbox()).filter(({ request_id }) => request_id === owed?.request_id),
      attempts: (await attempts()).filter(({ request_id }) => request_id === owed?.request_id),
    });
    const loads = three.load('stopped', all, { connections: 4 });
    await Promise.all(loads.map((load) => load.reached(50)));
    stage.sidecar.signal('SIGSTOP');
    const began = performance.now();
    const taken = await eventually(
      'another one has sent it',
      written,
      ({ request: [now] }) => now?.state === 'delivered',
      stretched(TAKEN_OVER_WITHIN_MS),
    );
    t.comment(`taken over after ${Math.round((performance.now() - began) / 1_000)} s`);
    t.match(taken.attempts, [
      { attempt: 1, status: null, reason: 'the sender stopped during the attempt' },
      { attempt: 2, status: 200 },
    ]);
    await Promise.all(loads.slice(1).map((load) => load.stop()));

    stage.sidecar.signal('SIGCONT');
    front.letThrough();
    await loads[0]?.stop();
    t.equal(await readyz(stage), 200);
    await three.settle(loads, stage);
    t.strictSame(await three.judge(), []);
    for (const { sidecar } of others) t.equal(await sidecar.end('SIGTERM'), 0);
    t.equal((await stage.api.call('POST', `/v1/employers/${EMPLOYER}/census/sync`)).status, 202);
    await eventually(
      'it sends again',
      () => simulator.requests().filter(({ repeated }) => !repeated).length,
      (count) => count === 2,
    );
    // The stale attempt ends before the process does.
    t.equal(await stage.sidecar.end('SIGTERM'), 0);
    t.strictSame(await written(), taken);
    const keys = simulator
      .requests()
      .filter(({ idempotencyKey }) => idempotencyKey?.startsWith(`${owed?.request_id}:`));
    t.equal(new Set(keys.map(({ idempotencyKey }) => idempotencyKey)).size, 1, 'under one key');
    t.equal(keys.filter(({ repeated }) => !repeated).length, 1, 'the service applied it once');
  },
);
