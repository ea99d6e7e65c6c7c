import { Webhook } from 'svix';
import t from 'tap';
import { FORGERIES } from '../../src/simulator/sign.ts';
import { manualTimer } from './manual-timer.ts';
import { type Arrival, receive } from './receiver.ts';
import { SECRET, start } from './start.ts';

const event = (id: string) => ({ id, body: { id, event_type: 'test.event', data: {} } });
const isSigned = ({ headers, text }: Arrival): boolean => {
  try {
    new Webhook(SECRET).verify(text, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};
const idsOf = (arrivals: readonly Arrival[]) => arrivals.map(({ headers }) => headers['svix-id']);

t.test('duplicate delivers the next events several times', async (t) => {
  const { url, arrivals } = await receive(t);
  const simulator = await start(t, { faults: ['duplicate=3:1'] });
  simulator.subscribe(url);
  for (const id of ['a', 'b']) await simulator.send(event(id));
  t.same(idsOf(arrivals), ['a', 'a', 'a', 'b']);
});

t.test('reorder delivers the given number of events newest first', async (t) => {
  const { url, arrivals } = await receive(t);
  const simulator = await start(t, { faults: ['reorder=3:3'] });
  simulator.subscribe(url);
  await Promise.all(['a', 'b', 'c'].map((id) => simulator.send(event(id))));
  await simulator.send(event('d'));
  t.same(idsOf(arrivals), ['c', 'b', 'a', 'd']);
});

t.test('events held back too long are sent in their order', async (t) => {
  const { url, arrivals } = await receive(t);
  const { wait, pass } = manualTimer();
  const simulator = await start(t, { wait, faults: ['reorder=3'] });
  simulator.subscribe(url);
  const sent = Promise.all(['a', 'b'].map((id) => simulator.send(event(id))));
  await pass(1_000);
  await sent;
  t.same(idsOf(arrivals), ['b', 'a']);
});

t.test('closing drops events that are held back', async (t) => {
  const { url, arrivals } = await receive(t);
  const simulator = await start(t, { faults: ['reorder=3'] });
  simulator.subscribe(url);
  const sent = simulator.send(event('a'));
  await simulator.close();
  await sent;
  t.same(arrivals, []);
});

t.test('bad-signature invalidates attempts, and the retry is signed correctly', async (t) => {
  const { url, arrivals } = await receive(t, (nth) => ({ status: nth === 0 ? 401 : 204 }));
  const simulator = await start(t, { retryScale: 0, faults: ['bad-signature:1'] });
  simulator.subscribe(url);
  await simulator.send(event('a'));
  await simulator.settled();
  t.same(arrivals.map(isSigned), [false, true]);
});

for (const forgery of FORGERIES) {
  t.test(`a forgery (${forgery}) fails verification and is not retried`, async (t) => {
    const { url, arrivals } = await receive(t, () => ({ status: 401 }));
    const simulator = await start(t, { retryScale: 0 });
    simulator.subscribe(url);
    await simulator.send(event('a'), { forgery });
    await simulator.settled();
    t.same(arrivals.map(isSigned), [false]);
    t.match(simulator.destinations(), [{ disabledAt: null, missed: 0 }]);
  });
}

t.test(
  'an endpoint that failed all attempts is disabled and receives the missed events when enabled',
  async (t) => {
    let status = 500;
    const { url, arrivals } = await receive(t, () => ({ status }));
    const disabled: string[] = [];
    const simulator = await start(t, { retryScale: 0, endpointDisabled: (at) => disabled.push(at) });
    simulator.subscribe(url);
    await simulator.send(event('a'));
    await simulator.settled();
    t.same(disabled, [url]);
    t.equal(arrivals.length, 8);
    await simulator.send(event('b'));
    t.equal(arrivals.length, 8, 'a disabled endpoint receives nothing');
    t.match(simulator.destinations(), [{ url, disabledAt: Date, missed: 2 }]);
    status = 204;
    await simulator.enableEndpoints();
    t.same(idsOf(arrivals.slice(8)), ['a', 'b']);
    t.match(simulator.destinations(), [{ disabledAt: null, missed: 0 }]);
  },
);

t.test('an endpoint that acknowledged any event in the meantime stays enabled', async (t) => {
  const { url } = await receive(t, (nth) => ({ status: nth === 1 ? 204 : 500 }));
  const { wait, pass } = manualTimer();
  const simulator = await start(t, { wait, retryScale: 1 });
  simulator.subscribe(url);
  await simulator.send(event('a'));
  await simulator.send(event('b'));
  const HOUR = 3_600_000;
  for (const ms of [5_000, 300_000, 1_800_000, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]) await pass(ms);
  await simulator.settled();
  t.match(simulator.destinations(), [{ disabledAt: null, missed: 1 }]);
});

t.test('only the endpoint that missed an event receives it later', async (t) => {
  const good = await receive(t);
  let status = 500;
  const bad = await receive(t, () => ({ status }));
  const simulator = await start(t, { retryScale: 0 });
  for (const { url } of [good, bad]) simulator.subscribe(url);
  await simulator.send(event('a'));
  await simulator.settled();
  status = 204;
  await simulator.enableEndpoints();
  t.same(idsOf(good.arrivals), ['a']);
  t.equal(bad.arrivals.length, 9);
});
