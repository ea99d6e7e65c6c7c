/** Ends and starts: nothing is lost between them, and nobody else serves the same file. */
import BetterSqlite3 from 'better-sqlite3';
import t from 'tap';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { eventually } from '../support/eventually.ts';
import { startFront } from '../support/front.ts';
import { deliver, eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { makeKeys } from '../support/settings.ts';
import { start } from '../support/sidecar.ts';
import { setStage, syncIn } from '../support/stage.ts';

const EMPLOYER = 'maple-bakery';
const census = makeWorld(DEFAULT_SEED).get(EMPLOYER);

t.test('a sidecar that is stopped and started again', async (t) => {
  const stage = await setStage(t, { simulator: { retryScale: 0.0005 } });
  const { api, simulator, variables, keys, databaseFile } = stage;
  const employees = census?.employees.map(({ employee_id }) => employee_id) ?? [];
  const events = employees.flatMap((id) => simulator.enrol(id));

  await t.test('a second one on the same file refuses in one line, and the first goes on', async (t) => {
    const second = start(t, { ...variables, RECEIVER_PORT: '0' });
    t.equal(await second.ended, 1);
    t.match(second.output(), /^benefits-sidecar: another process already serves .*sidecar\.db: .*\n$/);
    t.equal(second.output().split('\n').length, 2, 'one line');
    await Promise.all(events.map((event) => simulator.send(event)));
    t.ok(simulator.deliveries().every(({ acknowledged }) => acknowledged));
  });

  await t.test(
    'shows all that it showed before, also with other keys in front of the old ones',
    async (t) => {
      t.equal((await api.call('PUT', `/v1/employers/${EMPLOYER}/census`, census)).status, 200);
      await simulator.requestCensus(EMPLOYER);
      await syncIn(api, EMPLOYER, 'completed');
      await stage.settled();
      const paths = [
        '/v1/deductions?limit=1000',
        '/v1/deduction-versions?limit=1000',
        '/v1/events?limit=1000',
        '/v1/census-syncs',
        `/v1/employers/${EMPLOYER}/census`,
      ];
      const all = () => Promise.all(paths.map((path) => api.get(path)));
      const before = await all();
      t.equal(before[0].data.length, events.length);
      t.equal(await stage.sidecar.end('SIGTERM'), 0);

      const next = makeKeys();
      const oldToken = variables.API_TOKEN;
      variables.WEBHOOK_SECRETS = `${next.webhookSecret} ${keys.webhookSecret}`;
      variables.DATA_KEYS = `${next.dataKey.replace('k1:', 'k2:')} ${keys.dataKey}`;
      await stage.start();
      t.strictSame(await all(), before);
      for (const secret of [next.webhookSecret, keys.webhookSecret]) {
        t.equal((await deliver(stage.sidecar.port, secret, eventOf(secret.slice(-9, -1), 0))).status, 204);
      }
      t.equal(variables.API_TOKEN, oldToken);

      t.equal((await api.call('POST', `/v1/employers/${EMPLOYER}/census/sync`)).status, 202);
      const syncs = await eventually(
        'the census that was sealed with the old key is uploaded once more',
        () => api.list('/v1/census-syncs'),
        (found) => found.every(({ state }) => state === 'completed'),
      );
      t.equal(syncs.length, 2);
    },
  );

  await t.test('gets what was sent while it was stopped', async (t) => {
    t.equal(await stage.sidecar.end('SIGTERM'), 0);
    const missed = events.slice(0, 5).map(({ body }) => {
      const { id } = (body.data ?? {}) as { id: string };
      return simulator.changeDeduction(id, { member_contribution: '99.99' });
    });
    await Promise.all(missed.map((event) => simulator.send(event)));
    await stage.start();
    await stage.settled();
    for (const { id, body } of missed) {
      t.equal((await api.get(`/v1/events/${id}`)).state, 'applied');
      t.equal((await api.get(`/v1/deductions/${body.data?.id}`)).member_contribution, '99.99');
    }
    const acknowledged = [...events, ...missed].map(({ id, body }) => ({ id, body: JSON.stringify(body) }));
    t.strictSame(breaches({ databaseFile, acknowledged }), []);
  });
});

t.test('a census upload that is in flight when it is stopped', async (t) => {
  const fronts: Awaited<ReturnType<typeof startFront>>[] = [];
  const stage = await setStage(t, {
    before: async (url) => {
      const front = await startFront(t, url, 'hang');
      fronts.push(front);
      return front.url;
    },
  });
  const [front] = fronts;
  const { api, simulator, databaseFile } = stage;
  await api.call('PUT', `/v1/employers/${EMPLOYER}/census`, census);
  const hangs = (count: number) =>
    eventually(
      'the upload hangs',
      () => front?.met.get('hang') ?? 0,
      (met) => met === count,
    );

  await t.test('ends by itself within the time to stop, and is written down', async (t) => {
    await simulator.requestCensus(EMPLOYER);
    await hangs(1);
    const ended = stage.sidecar.end('SIGTERM');
    await eventually(
      'it is stopping',
      () => stage.sidecar.logged().some(({ msg }) => msg === 'stopping'),
      Boolean,
    );
    front?.letThrough();
    t.equal(await ended, 0);
    const delivered = stage.sidecar
      .logged()
      .filter(({ kind, state }) => kind === 'census' && state === 'delivered');
    t.equal(delivered.length, 1);
    await stage.start();
    await stage.settled();
    await syncIn(api, EMPLOYER, 'completed');
    t.equal(simulator.requests().length, 1, 'and is not sent again');
  });

  await t.test('or is left, and sent again with the same key', async (t) => {
    if (front === undefined) return t.fail('no front');
    front.mode = 'hang';
    await api.call('POST', `/v1/employers/${EMPLOYER}/census/sync`);
    await hangs(2);
    const began = performance.now();
    t.equal(await stage.sidecar.end('SIGTERM'), 0);
    const took = performance.now() - began;
    t.ok(took < 10_000, `it ended in ${Math.round(took)} ms`);
    front.mode = 'pass';
    // Its claim expires after 30 s: the long test waits for that (test/faults/takeover.test.ts).
    const handle = new BetterSqlite3(databaseFile);
    const expired = handle
      .prepare("update outbox set lease_until = '2026-01-01T00:00:00.000Z' where state = 'sending'")
      .run();
    const key = handle.prepare("select request_id from outbox where state = 'sending'").pluck().get();
    handle.close();
    t.equal(expired.changes, 1, 'the claim is there still');
    await stage.start();
    await eventually(
      'the sync is completed',
      () => api.list('/v1/census-syncs'),
      (all) => all.every(({ state }) => state === 'completed'),
    );
    t.equal(simulator.requests().length, 2);
    t.ok(simulator.requests()[1]?.idempotencyKey?.startsWith(`${key}:`), 'under the key of the request');
  });
});
