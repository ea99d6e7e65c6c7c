import t from 'tap';
import type { Arrival } from '../../src/inbox/inbox.ts';
import { type Crossing, createCrossings, storeCrossing } from '../../src/inbox/intake-channel.ts';

/** Both ends in one thread: what crosses is cloned, and its bytes change hands, as between two. */
function crossings(store: (arrival: Arrival) => Promise<void>) {
  const crossed: Crossing[] = [];
  const { accept, answered } = createCrossings(async (crossing) => {
    const message = structuredClone(crossing, { transfer: [crossing.bodies] });
    crossed.push(message);
    answered(message.crossing, await storeCrossing(message, store));
  });
  return { accept, crossed };
}

function arrival(eventId: string, body: string | Buffer): Arrival {
  return { eventId, body: Buffer.from(body) };
}

t.test('what arrives in one turn of the event loop crosses together, byte for byte', async (t) => {
  const stored: Arrival[] = [];
  const { accept, crossed } = crossings(async (one) => void stored.push(one));
  const arrivals = [
    arrival('msg_1', '{"name":"Zoë"}'),
    arrival('msg_2', Buffer.alloc(0)),
    arrival('msg_3', Buffer.from([0x00, 0xff, 0x7f])),
  ];
  await Promise.all(arrivals.map(accept));
  t.strictSame(stored, arrivals);
  t.equal(crossed.length, 1);

  await accept(arrival('msg_4', 'x'));
  t.equal(crossed.length, 2, 'what comes later crosses by itself');
});

t.test('one that is not stored is refused, and no other with it', async (t) => {
  const { accept } = crossings(async ({ eventId }) => {
    if (eventId === 'msg_2') throw new Error('the disk is full');
  });
  const settled = await Promise.allSettled(
    ['msg_1', 'msg_2', 'msg_3'].map((id) => accept(arrival(id, '{}'))),
  );
  t.strictSame(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  t.match(settled[1], { reason: { code: 'NOT_STORED' } });
});

t.test('an answer that comes before another belongs to its own crossing', async (t) => {
  const sent: Crossing[] = [];
  const { accept, answered } = createCrossings((crossing) => sent.push(crossing));
  const first = accept(arrival('msg_1', '{}'));
  await new Promise(setImmediate);
  const second = accept(arrival('msg_2', '{}'));
  await new Promise(setImmediate);
  t.equal(sent.length, 2);
  answered(sent[1]?.crossing as number, [0]);
  await t.rejects(second, { code: 'NOT_STORED' });
  answered(sent[0]?.crossing as number, []);
  await t.resolves(first);
});
