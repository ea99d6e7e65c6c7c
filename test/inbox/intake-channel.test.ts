import t from 'tap';
import type { Arrival } from '../../src/inbox/inbox.ts';
import { createIntakeChannel, type IntakeBatch, storeIntakeBatch } from '../../src/inbox/intake-channel.ts';

/** Both ends on one thread. Batches are cloned and their bytes transferred, as between two threads. */
function channel(store: (arrival: Arrival) => Promise<void>) {
  const batches: IntakeBatch[] = [];
  const { accept, finish } = createIntakeChannel(async (batch) => {
    const message = structuredClone(batch, { transfer: [batch.bodies] });
    batches.push(message);
    finish(message.batch, await storeIntakeBatch(message, store));
  });
  return { accept, batches };
}

function arrival(eventId: string, body: string | Buffer): Arrival {
  return { eventId, body: Buffer.from(body) };
}

t.test('deliveries of one event loop turn are one batch, byte for byte', async (t) => {
  const stored: Arrival[] = [];
  const { accept, batches } = channel(async (one) => void stored.push(one));
  const arrivals = [
    arrival('msg_1', '{"name":"Zoë"}'),
    arrival('msg_2', Buffer.alloc(0)),
    arrival('msg_3', Buffer.from([0x00, 0xff, 0x7f])),
  ];
  await Promise.all(arrivals.map(accept));
  t.strictSame(stored, arrivals);
  t.equal(batches.length, 1);

  await accept(arrival('msg_4', 'x'));
  t.equal(batches.length, 2, 'a later delivery is in another batch');
});

t.test('a delivery that is not stored is rejected without the others in its batch', async (t) => {
  const { accept } = channel(async ({ eventId }) => {
    if (eventId === 'msg_2') throw new Error('the disk is full');
  });
  const results = await Promise.allSettled(
    ['msg_1', 'msg_2', 'msg_3'].map((id) => accept(arrival(id, '{}'))),
  );
  const statuses = results.map(({ status }) => status);
  t.strictSame(statuses, ['fulfilled', 'rejected', 'fulfilled']);
  t.match(results[1], { reason: { code: 'NOT_STORED' } });
});

t.test('batches may finish in any order', async (t) => {
  const sent: IntakeBatch[] = [];
  const { accept, finish } = createIntakeChannel((batch) => sent.push(batch));
  const first = accept(arrival('msg_1', '{}'));
  await new Promise(setImmediate);
  const second = accept(arrival('msg_2', '{}'));
  await new Promise(setImmediate);
  t.equal(sent.length, 2);
  finish(sent[1]?.batch as number, [0]);
  await t.rejects(second, { code: 'NOT_STORED' });
  finish(sent[0]?.batch as number, []);
  await t.resolves(first);
});
