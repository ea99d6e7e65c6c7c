/** Restarts lose nothing. */

import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { makeKeys } from '../support/settings.ts';
import { setStage, syncIn } from '../support/stage.ts';

const EMPLOYER = 'maple-bakery';
const census = makeWorld(DEFAULT_SEED).get(EMPLOYER);

onEitherEngine('after a restart a sidecar', async (t) => {
  const stage = await setStage(t, { simulator: { retryScale: 0.0005 } });
  const { api, simulator, variables, keys, databaseUrl } = stage;
  const employees = census?.employees.map(({ employee_id }) => employee_id) ?? [];
  const events = employees.flatMap((id) => simulator.enrol(id));

  await t.test('shows the same data, also with new keys in front of the old ones', async (t) => {
    await Promise.all(events.map((event) => simulator.send(event)));
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
    variables.WEBHOOK_SECRETS = `${next.webhookSecret} ${keys.webhookSecret}`;
    variables.DATA_KEYS = `${next.dataKey.replace('k1:', 'k2:')} ${keys.dataKey}`;
    await stage.start();
    t.strictSame(await all(), before);
    for (const secret of [next.webhookSecret, keys.webhookSecret]) {
      t.equal((await deliver(stage.sidecar.port, secret, eventOf(secret.slice(-9, -1), 0))).status, 204);
    }

    t.equal((await api.call('POST', `/v1/employers/${EMPLOYER}/census/sync`)).status, 202);
    const syncs = await eventually(
      'the census encrypted with the old key is uploaded again',
      () => api.list('/v1/census-syncs'),
      (found) => found.every(({ state }) => state === 'completed'),
    );
    t.equal(syncs.length, 2);
  });

  await t.test('receives the events sent while it was stopped', async (t) => {
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
    t.strictSame(await breaches({ databaseUrl, acknowledged }), []);
  });
});
