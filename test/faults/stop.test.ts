/** SIGTERM at bad moments: acknowledged events are kept, and the process ends in time. */
import { connect } from 'node:net';
import type { Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { open } from '../database/scratch.ts';
import { onEachEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { type Front, startFront } from '../support/front.ts';
import { breaches } from '../support/oracle.ts';
import { start } from '../support/sidecar.ts';
import { setStage, syncIn } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';

const EMPLOYER = 'maple-bakery';
const census = makeWorld(DEFAULT_SEED).get(EMPLOYER);
const STOPS_WITHIN_MS = 10_000;

onEachEngine('a stopped sidecar', async (t) => {
  let front = {} as Front;
  const stage = await setStage(t, {
    before: async (url) => {
      front = await startFront(t, url);
      return front.url;
    },
  });
  const { api, simulator, databaseUrl, keys } = stage;
  const uploadHangs = async (times: number) => {
    await eventually('the upload hangs', () => front.met.get('hang'), times);
  };
  await api.call('PUT', `/v1/employers/${EMPLOYER}/census`, census);

  await t.test('ends in time and loses nothing, with slow clients and a service that hangs', async (t) => {
    await simulator.requestCensus(EMPLOYER);
    await uploadHangs(1);
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
    // The claim of the upload expires after 30 s; test/faults/takeover.test.ts waits for that.
    const left = await transact(db, (trx) =>
      trx
        .updateTable('outbox')
        .set({ lease_expires_at: '2026-01-01T00:00:00.000Z' })
        .where('state', '=', 'sending')
        .returning('request_id')
        .execute(),
    );
    t.equal(left.length, 1, 'the upload is kept');

    front.mode = 'pass';
    await stage.start();
    for (const event of load.inDoubt.values()) t.equal((await stage.send(event)).status, 204);
    await syncIn(api, EMPLOYER, 'completed');
    await stage.settled();
    const [upload, ...others] = simulator.requests();
    t.strictSame(others, []);
    t.ok(upload?.idempotencyKey?.startsWith(`${left[0]?.request_id}:`), 'it is sent again under its key');
    const acknowledged = [...load.acknowledged.values(), ...load.inDoubt.values()];
    t.strictSame(await breaches({ databaseUrl, acknowledged }), []);
  });

  await t.test('waits for the response to an upload in flight and stores it', async (t) => {
    front.mode = 'hang';
    await api.call('POST', `/v1/employers/${EMPLOYER}/census/sync`);
    await uploadHangs(2);
    const ended = stage.sidecar.end('SIGTERM');
    const isStopping = () => stage.sidecar.logged().some(({ msg }) => msg === 'stopping');
    await eventually('it is stopping', isStopping, true);
    front.letThrough();
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
