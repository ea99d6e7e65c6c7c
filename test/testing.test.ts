/** The testing entry point, as users' tests import it. */
import t from 'tap';
import { createVerify } from '../src/inbox/signature.ts';
import { loadFixtures, signEvent, startSimulator } from '../src/testing.ts';

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const AT = new Date('2026-02-01T12:00:00Z');

t.test('the receiver verifies a signed event only for its body and time', async (t) => {
  const body = JSON.stringify(loadFixtures()[0]?.body);
  const headers = signEvent(SECRET, 'msg_1', AT, body);
  // The provider's library reads the clock itself.
  t.intercept(Date, 'now', { value: () => AT.getTime() });
  const verify = createVerify([SECRET], () => AT);
  t.strictSame(verify(headers, Buffer.from(body)), { eventId: 'msg_1' });
  t.strictSame(verify(headers, Buffer.from(`${body} `)), { refused: 'signature' });
  const later = createVerify([SECRET], () => new Date(AT.getTime() + 600_000));
  t.strictSame(later(headers, Buffer.from(body)), { refused: 'timestamp' });
});

t.test('a simulator creates its secrets and accepts requests only with its key', async (t) => {
  const [simulator, other] = await Promise.all([startSimulator(), startSimulator()]);
  t.teardown(() => Promise.all([simulator.close(), other.close()]));
  t.not(simulator.apiKey, other.apiKey);
  t.notSame(simulator.secrets, other.secrets);
  const census = simulator.world.get('maple-bakery');
  const upload = async (key: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const address = `${simulator.url}/employer/maple-bakery/census`;
    return (await fetch(address, { method: 'POST', headers, body: JSON.stringify(census) })).status;
  };
  t.equal(await upload(other.apiKey), 401);
  t.equal(await upload(simulator.apiKey), 200);
  t.match(simulator.requests(), [{ status: 401 }, { path: '/employer/maple-bakery/census', status: 200 }]);
  simulator.setFaults(['error=503:1']);
  t.equal(await upload(simulator.apiKey), 503, 'a fault is injected');
});

t.test('a given secret signs events, and a given seed creates the same world', async (t) => {
  const options = { apiKey: 'key', secrets: [SECRET], seed: 7, employerIds: ['one'], employeesEach: 2 };
  const [simulator, again] = await Promise.all([startSimulator(options), startSimulator(options)]);
  t.teardown(() => Promise.all([simulator.close(), again.close()]));
  t.equal(simulator.apiKey, 'key');
  t.strictSame(simulator.secrets, [SECRET]);
  t.equal(simulator.world.get('one')?.employees.length, 2);
  t.strictSame(simulator.world, again.world);
});
