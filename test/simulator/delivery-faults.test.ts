import { Webhook } from 'svix';
import t from 'tap';
import { FORGERIES } from '../../src/simulator/sign.ts';
import { type Arrival, subscribed } from './receiver.ts';
import { SECRET } from './start.ts';

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

t.test('bad-signature invalidates attempts, and the retry is signed correctly', async (t) => {
  const { simulator, arrivals } = await subscribed(t, (nth) => ({ status: nth === 0 ? 401 : 204 }), {
    retryScale: 0,
    faults: ['bad-signature:1'],
  });
  await simulator.send(event('a'));
  await simulator.settled();
  t.same(arrivals.map(isSigned), [false, true]);
});

for (const forgery of FORGERIES) {
  t.test(`a forgery (${forgery}) fails verification and is not retried`, async (t) => {
    const { simulator, arrivals } = await subscribed(t, () => ({ status: 401 }), { retryScale: 0 });
    await simulator.send(event('a'), { forgery });
    await simulator.settled();
    t.same(arrivals.map(isSigned), [false]);
    t.match(simulator.destinations(), [{ disabledAt: null, missed: 0 }]);
  });
}

t.test('an endpoint that failed all attempts is disabled until it is enabled', async (t) => {
  let status = 500;
  const disabled: string[] = [];
  const { simulator, url, arrivals } = await subscribed(t, () => ({ status }), {
    retryScale: 0,
    endpointDisabled: (at) => disabled.push(at),
  });
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
});
