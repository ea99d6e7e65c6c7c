/** SIGTERM at bad moments: acknowledged events are kept, and the process ends in time. */
import { connect } from 'node:net';
import type { Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { open } from '../database/scratch.ts';
import { onEachEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { breaches } from '../support/oracle.ts';
import { start } from '../support/sidecar.ts';
import { setStage, syncIn } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';

const EMPLOYER = 'maple-bakery';
const census = makeWorld(DEFAULT_SEED).get(EMPLOYER);
const STOPS_WITHIN_MS = 10_000;
/** A sidecar that does not wait for a response ends sooner. */
const RESPONSE_S = 3;

onEachEngine('a stopped sidecar', async (t) => {
  const stage = await setStage(t);
  const { api, simulator, databaseUrl, keys } = stage;
  const uploadArrived = (count: number) =>
    eventually('the upload arrives', () => simulator.requests().length, count);
  await api.call('PUT', `/v1/employers/${EMPLOYER}/census`, census);

  await t.test('ends in time and loses nothing, with slow clients and a service that hangs', async (t) => {
    simulator.setFaults(['hang:1']);
    await simulator.requestCensus(EMPLOYER);
    await uploadArrived(1);
    drip(t, stage.sidecar.port, 'POST /webhooks HTTP/1.1\r\nhost: a\r\ncontent-length: 9999\r\n\r\n');
    drip(t, stage.sidecar.port, '');
    const put = `PUT /v1/employers/${EMPLOYER}/census HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${keys.token}\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n`;
    drip(t, Number(new URL(stage.sidecar.api).port), put);
    const load = stage.load('stop');
    await load.reached(300);
    const began = performance.now();
    t.equal(await stage.sidecar.end('SIGTERM'), 0);
    const tookMs = Math.round(performance.now() - began);
    t.ok(tookMs < stretched(STOPS_WITHIN_MS), `it ended in ${tookMs} ms`);
    await load.ended;
    for (const status of load.refusals.keys()) t.ok(status === 0 || status === 503, `${status}`);

    const db = open(t, databaseUrl);
    const rows = await db.selectFrom('inbox').select('event_id').execute();
    const stored = new Set(rows.map(({ event_id }) => event_id));
    for (const id of load.acknowledged.keys()) t.ok(stored.has(id), id);
    // The claim of the upload expires after 30 s; test/outbox/claims.test.ts has that rule.
    const left = await transact(db, (trx) =>
      trx
        .updateTable('outbox')
        .set({ lease_expires_at: '2026-01-01T00:00:00.000Z' })
        .where('state', '=', 'sending')
        .returning('request_id')
        .execute(),
    );
    t.equal(left.length, 1, 'the upload is kept');

    await stage.start();
    for (const event of load.inDoubt.values()) t.equal((await stage.send(event)).status, 204);
    await syncIn(api, EMPLOYER, 'completed');
    await stage.settled();
    const [hung, again, ...others] = simulator.requests();
    t.strictSame(others, []);
    t.ok(again?.idempotencyKey?.startsWith(`${left[0]?.request_id}:`));
    t.equal(again?.idempotencyKey, hung?.idempotencyKey, 'it is sent again under its key');
    const acknowledged = [...load.acknowledged.values(), ...load.inDoubt.values()];
    t.strictSame(await breaches({ databaseUrl, acknowledged }), []);
  });

  await t.test('waits for the response to an upload in flight and stores it', async (t) => {
    simulator.setFaults([`latency=${RESPONSE_S}s:1`]);
    await api.call('POST', `/v1/employers/${EMPLOYER}/census/sync`);
    await uploadArrived(3);
    const ended = stage.sidecar.end('SIGTERM');
    const isStopping = () => stage.sidecar.logged().some(({ msg }) => msg === 'stopping');
    await eventually('it is stopping', isStopping, true);
    t.equal(await ended, 0);
    const requests = await open(t, databaseUrl)
      .selectFrom('outbox')
      .select('state')
      .where('state', '<>', 'canceled')
      .execute();
    t.strictSame(requests, [{ state: 'delivered' }, { state: 'delivered' }]);
  });
});

onEachEngine('SIGTERM during startup ends it cleanly', async (t) => {
  const stage = await setStage(t, { start: false });
  const starting = start(t, stage.variables);
  await eventually('it has begun', () => starting.logged().length > 0, true);
  t.equal(await starting.end('SIGTERM'), 0);
  t.match(starting.logged().at(-1), { msg: 'stopped' });
});

/** Starts a request and sends its remaining text byte by byte, indefinitely. */
function drip(t: Test, port: number, beginning: string): void {
  const socket = connect(port, '127.0.0.1', () => socket.write(beginning));
  const dripping = setInterval(() => beginning !== '' && socket.write(' '), 100);
  const stop = () => clearInterval(dripping);
  socket.on('error', stop).on('close', stop);
  t.teardown(() => {
    stop();
    socket.destroy();
  });
}
