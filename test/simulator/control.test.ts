import t from 'tap';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { receive } from './receiver.ts';
import { OTHER_SECRET, post, SECRET, start } from './start.ts';

const TERMINATIONS = '/employee-changes/termination';
const termination = { employee_id: 'maple-bakery-001', termination_date: '2026-03-31' };

/** The simulator's control requests, without a key: they are not part of the interface. */
async function order(simulator: Simulator, orders?: unknown) {
  const answer = await fetch(`${simulator.url}/__control`, {
    ...(orders !== undefined && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(orders),
    }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look at single fields of it.
  return { status: answer.status, json: (await answer.json()) as any };
}

t.test('the control page shows the faults and received requests without bodies or secrets', async (t) => {
  const simulator = await start(t, { faults: ['latency=1ms:5'] });
  await post(simulator, TERMINATIONS, termination, { 'idempotency-key': 'k-1' });
  const { status, json } = await order(simulator);
  t.equal(status, 200);
  t.match(json, {
    faults: [{ fault: 'latency=1ms:5', met: 1, left: 4 }],
    endpoints: [],
    scenario: null,
    requests: [
      {
        kind: 'termination',
        subject: 'employee:maple-bakery-001',
        idempotency_key: 'k-1',
        body_hash: /^[0-9a-f]{64}$/,
        applied: true,
      },
    ],
    deliveries: [],
  });
  t.notOk('body' in json.requests[0]);
  t.notMatch(JSON.stringify(json), SECRET);
  t.equal(simulator.requests().length, 1, 'control requests are not recorded');
});

t.test('a control request takes effect immediately', async (t) => {
  const simulator = await start(t);
  t.match(await order(simulator, { faults: ['error=503:1', 'forbidden@acme'] }), {
    status: 200,
    json: { faults: [{ fault: 'error=503:1', met: 0, left: 1 }, { left: null }] },
  });
  t.equal((await post(simulator, TERMINATIONS, termination)).status, 503);
  t.equal((await order(simulator, { faults: [], api_key: 'the-new-key' })).status, 200);
  t.equal((await post(simulator, TERMINATIONS, termination)).status, 401);
  await order(simulator, { webhook_secrets: [OTHER_SECRET, SECRET] });
  t.same(simulator.secrets(), [OTHER_SECRET, SECRET]);
});

t.test('invalid control requests are rejected by field and change nothing', async (t) => {
  const simulator = await start(t);
  const refused: [unknown, string, RegExp][] = [
    [{}, 'body', /must have at least one order/],
    [[], 'body', /./],
    [{ fault: ['hang'] }, 'fault', /is not a field/],
    [{ faults: 'hang' }, 'faults', /must be an array/],
    [{ api_key: 'k', faults: ['hang', 'explode'] }, 'faults', /NAME one of/],
    [{ api_key: '' }, 'api_key', /at least 1 character/],
    [{ webhook_secrets: ['whsec_short'] }, 'webhook_secrets[0]', /24 to 64 bytes/],
    [{ enable_endpoints: false }, 'enable_endpoints', /./],
    [{ api_key: 'k', scenario: 'doomsday' }, 'scenario', /--scenario list/],
  ];
  for (const [orders, field, rule] of refused) {
    const { status, json } = await order(simulator, orders);
    t.equal(status, 422);
    t.match(json.details[field], rule, JSON.stringify(orders));
  }
  t.equal((await post(simulator, TERMINATIONS, termination)).status, 200, 'the key is unchanged');
  t.same(simulator.faults(), []);
});

t.test('scenarios are played on request, one at a time', async (t) => {
  const { url, arrived } = await receive(t);
  const said: string[] = [];
  const simulator = await start(t, { messaged: (text) => said.push(text) });
  simulator.subscribe(url);
  t.match(await order(simulator, { scenario: 'deprecated' }), {
    status: 200,
    json: { scenario: { name: 'deprecated', state: 'playing' } },
  });
  t.match(await order(simulator, { scenario: 'ties' }), {
    status: 409,
    json: { error: /wait until it ends/ },
  });
  await t.rejects(
    simulator.playScenario('ties', () => {}),
    /deprecated is already playing/,
  );
  await arrived(2);
  await simulator.settled();
  await new Promise(setImmediate);
  const { json } = await order(simulator);
  t.match(json.scenario, { name: 'deprecated', state: 'played' });
  t.same(json.scenario.messages, said);
  t.match(said.at(-1), /^deprecated is done/);
});
