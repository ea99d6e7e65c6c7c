import { Webhook } from 'svix';
import t from 'tap';
import { ACKNOWLEDGED_WITHIN_MS, RETRY_DELAYS_MS } from '../../src/simulator/provider.ts';
import { manualTimer } from './manual-timer.ts';
import { type Arrival, subscribed } from './receiver.ts';
import { OTHER_SECRET, SECRET } from './start.ts';

const MINUTE_MS = 60_000;
const event = { id: 'msg_1', body: { id: 'evt_1', event_type: 'test.event', data: { word: 'Bäckerei 北' } } };

function verify(secret: string, { headers, text }: Arrival): void {
  new Webhook(secret).verify(text, headers as Record<string, string>);
}

t.test("a delivery carries a signature that the provider's library accepts, over the raw body", async (t) => {
  const { simulator, ...receiver } = await subscribed(t);
  await simulator.send(event);
  const [arrival] = receiver.arrivals;
  verify(SECRET, arrival!);
  t.throws(() => verify(OTHER_SECRET, arrival!));
  t.throws(() => verify(SECRET, { ...arrival!, text: `${arrival!.text} ` }));
  t.equal(arrival!.headers['svix-id'], 'msg_1');
  t.equal(arrival!.headers['content-type'], 'application/json');
  t.strictSame(JSON.parse(arrival!.text), event.body);
});

t.test('a delivery is signed with every secret, so both verify during a rotation', async (t) => {
  const { simulator, ...receiver } = await subscribed(t, undefined, { secrets: [SECRET, OTHER_SECRET] });
  await simulator.send(event);
  const [arrival] = receiver.arrivals;
  verify(SECRET, arrival!);
  verify(OTHER_SECRET, arrival!);
  t.equal((arrival!.headers['svix-signature'] as string).split(' ').length, 2);
});

t.test('failed attempts are retried on the provider schedule, then abandoned', async (t) => {
  const { wait, pass, due } = manualTimer();
  const { simulator, ...receiver } = await subscribed(t, () => ({ status: 503 }), { wait, retryScale: 1 });
  await simulator.send(event);
  let settled = false;
  const waiting = simulator.settled().then(() => {
    settled = true;
  });
  const delays = [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS, 300 * MINUTE_MS];
  for (const delay of [...delays, 600 * MINUTE_MS, 600 * MINUTE_MS]) {
    t.notOk(settled);
    await pass(delay);
  }
  await waiting;
  t.strictSame(due(), []);
  t.equal(receiver.arrivals.length, RETRY_DELAYS_MS.length);
  const failed = RETRY_DELAYS_MS.map((_, nth) => ({ attempt: nth + 1, status: 503, acknowledged: false }));
  t.match(simulator.deliveries(), failed);
});

t.test('retries keep the id and the body and have new timestamps', async (t) => {
  let now = Date.parse('2026-03-01T12:00:00.900Z');
  const { wait, pass } = manualTimer();
  const { simulator, ...receiver } = await subscribed(t, (nth) => ({ status: nth < 2 ? 500 : 204 }), {
    wait,
    retryScale: 1,
    now: () => new Date(now),
  });
  await simulator.send(event);
  for (const delay of [5_000, 5 * MINUTE_MS]) {
    now += delay;
    await pass(delay);
  }
  await simulator.settled();
  const start1 = Date.parse('2026-03-01T12:00:00Z') / 1_000;
  const seen = receiver.arrivals.map(({ headers }) => `${headers['svix-id']} ${headers['svix-timestamp']}`);
  t.strictSame(seen, [`msg_1 ${start1}`, `msg_1 ${start1 + 5}`, `msg_1 ${start1 + 305}`]);
  t.equal(new Set(receiver.arrivals.map(({ text }) => text)).size, 1);
  t.equal(new Set(receiver.arrivals.map(({ headers }) => headers['svix-signature'])).size, 3);
});

t.test('a receiver without a response within 15 seconds fails', async (t) => {
  const { wait, pass, due } = manualTimer();
  const { simulator, ...receiver } = await subscribed(t, (nth) => (nth === 0 ? 'silence' : { status: 204 }), {
    wait,
    retryScale: 1,
  });
  const sent = simulator.send(event);
  await receiver.arrived(1);
  await pass(ACKNOWLEDGED_WITHIN_MS);
  await sent;
  t.match(simulator.deliveries(), [{ acknowledged: false, status: null, reason: 'timed out' }]);
  await pass(5_000);
  await simulator.settled();
  t.equal(receiver.arrivals.length, 2);
  t.strictSame(due(), [], 'a response cancels its timeout');
});

t.test('a shuffle sends each event 1 + duplicates times, in an order that the seed determines', async (t) => {
  const events = Array.from({ length: 12 }, (_, index) => ({ ...event, id: `msg_${index}` }));
  const orderFor = async (seed: number) => {
    const { simulator, arrivals } = await subscribed(t, undefined, { seed });
    await simulator.deliverShuffled(events, { duplicates: 2 });
    return arrivals.map(({ headers }) => headers['svix-id']);
  };
  const inOrder = events.flatMap(({ id }) => [id, id, id]);
  const order = await orderFor(1);
  t.strictSame([...order].sort(), [...inOrder].sort());
  t.notSame(order, inOrder);
  t.strictSame(await orderFor(1), order);
  t.notSame(await orderFor(2), order);
});

t.test('closing abandons deliveries in flight', async (t) => {
  const { wait, due } = manualTimer();
  const { simulator, ...receiver } = await subscribed(t, (nth) => (nth === 0 ? { status: 500 } : 'silence'), {
    wait,
    retryScale: 1,
  });
  await simulator.send(event);
  const hanging = simulator.send(event);
  await receiver.arrived(2);
  await simulator.close();
  await hanging;
  await simulator.settled();
  t.strictSame(due(), []);
  await simulator.send(event);
  t.equal(simulator.deliveries().length, 2, 'nothing is sent after closing');
});
