import { createHash } from 'node:crypto';
import t from 'tap';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { makeCensus } from '../../src/simulator/world.ts';
import { onSqlite } from '../support/engine.ts';
import { subscribed } from './receiver.ts';
import { API_KEY, OTHER_SECRET, post, SECRET, start } from './start.ts';

const test = onSqlite.with(start);

const CENSUS_PATH = '/employer/maple-bakery/census';
const EMPLOYEE = 'maple-bakery-001';
const upload = makeCensus(1, 'maple-bakery', 3);
const address = { line1: '1 Birch Lane', city: 'Boise', state: 'ID', zip_code: '83702' };
const payRate = { amount: '31.50', period: 'hourly', effective_start: '2026-03-01' };
const hire = { ...upload.employees[0], employee_id: 'maple-bakery-900', employer_id: 'maple-bakery' };

const CHANGES = [
  { kind: 'new-hire', good: hire, bad: { ...hire, hire_date: '2026-02-30' }, field: 'hire_date' },
  {
    ...{ kind: 'termination', good: { employee_id: EMPLOYEE, termination_date: '2026-03-31' } },
    ...{ bad: { employee_id: EMPLOYEE }, field: 'termination_date' },
  },
  {
    ...{ kind: 'demographic', good: { employee_id: EMPLOYEE, address } },
    ...{ bad: { employee_id: EMPLOYEE, address: { ...address, state: 'Idaho' } }, field: 'address.state' },
  },
  {
    kind: 'compensation-change',
    good: { employee_id: EMPLOYEE, pay_rate: payRate, employment_status: 'variable_hours' },
    ...{ bad: { employee_id: EMPLOYEE }, field: 'body' },
  },
];

test('a valid census is accepted and replaces the employees', async (t, simulator) => {
  t.strictSame(await post(simulator, CENSUS_PATH, upload), { status: 200, body: {} });
  t.strictSame([...simulator.employeesOf('maple-bakery').values()], upload.employees);
  t.equal(simulator.employeesOf('harbor-clinic').size, 0);
});

test('a census that breaks the contract is rejected with field and rule, never a value', async (t, simulator) => {
  const [first, ...rest] = upload.employees;
  const broken = { ...upload, employees: [{ ...first, dob: '1988-02-30', ssn: 123456789 }, ...rest] };
  const answer = await post(simulator, CENSUS_PATH, broken);
  t.equal(answer.status, 422);
  t.strictSame(Object.keys(answer.body.details!).sort(), ['employees[0].dob', 'employees[0].ssn']);
  t.equal(answer.body.details!['employees[0].dob'], 'must be a real date, YYYY-MM-DD');
  t.notMatch(JSON.stringify(answer.body), /1988|123456789/);
  t.equal(simulator.employeesOf('maple-bakery').size, 0);
});

test('an invalid change is rejected with its field', async (t, simulator) => {
  for (const { kind, bad, field } of CHANGES) {
    const { status, body } = await post(simulator, `/employee-changes/${kind}`, bad);
    t.equal(status, 422);
    t.strictSame(Object.keys(body.details!), [field]);
  }
});

test('employment changes update the employees', async (t, simulator) => {
  await post(simulator, CENSUS_PATH, upload);
  for (const { kind, good } of CHANGES)
    t.strictSame(await post(simulator, `/employee-changes/${kind}`, good), { status: 200, body: {} });
  const employees = simulator.employeesOf('maple-bakery');
  t.strictSame(employees.get(EMPLOYEE), {
    ...{ ...upload.employees[0], termination_date: '2026-03-31', address },
    ...{ pay_rate: [payRate], employment_status: 'variable_hours' },
  });
  const { employer_id: _, ...hired } = hire;
  t.strictSame(employees.get('maple-bakery-900'), hired);
});

test('an unknown employer or employee returns 404 with an error', async (t, simulator) => {
  const notFound = (error: string) => ({ status: 404, body: { error, details: {} } });
  t.strictSame(await post(simulator, '/employer/nobody/census', upload), notFound('employer not found'));
  for (const { kind, good } of CHANGES) {
    const whose = kind === 'new-hire' ? 'employer' : 'employee';
    const unknown = { ...good, [`${whose}_id`]: 'nobody' };
    const refused = await post(simulator, `/employee-changes/${kind}`, unknown);
    t.strictSame(refused, notFound(`${whose} not found`));
  }
});

test('a wrong key returns 401 before the body is read', async (t, simulator) => {
  for (const authorization of ['', 'Bearer', 'Bearer wrong', API_KEY, `Basic ${API_KEY}`]) {
    const answer = await post(simulator, CENSUS_PATH, upload, { authorization });
    t.strictSame(answer, { status: 401, body: { error: 'the API key is missing or wrong', details: {} } });
  }
  t.equal(simulator.employeesOf('maple-bakery').size, 0);
  t.ok(simulator.requests().every((request) => request.status === 401 && request.body === null));
});

test('a repeated Idempotency-Key returns the first response and is not applied twice', async (t, simulator) => {
  const headers = { 'idempotency-key': 'k-1' };
  await post(simulator, CENSUS_PATH, upload, headers);
  const other = { ...upload, employees: upload.employees.slice(2) };
  t.strictSame(await post(simulator, CENSUS_PATH, other, headers), { status: 200, body: {} });
  t.equal(simulator.employeesOf('maple-bakery').size, 3);
  const shown = simulator.requests().map(({ idempotencyKey, repeated }) => `${idempotencyKey} ${repeated}`);
  t.strictSame(shown, ['k-1 false', 'k-1 true']);
});

t.test('every request is recorded before its response is sent', async (t) => {
  const now = new Date('2026-03-01T12:00:00Z');
  const seen: unknown[] = [];
  const simulator = await start(t, { now: () => now, received: (request) => seen.push(request) });
  const body = CHANGES[1]!.good;
  await post(simulator, '/employee-changes/termination?x=%2F', body, { 'idempotency-key': 'k-1' });
  t.strictSame(simulator.requests(), [
    {
      ...{ at: now, method: 'POST', path: '/employee-changes/termination?x=%2F' },
      ...{ kind: 'termination', subject: `employee:${EMPLOYEE}`, idempotencyKey: 'k-1' },
      ...{ status: 200, body, bodyHash: createHash('sha256').update(JSON.stringify(body)).digest('hex') },
      ...{ applied: true, repeated: false, fault: null },
    },
  ]);
  t.strictSame(seen, simulator.requests());
});

const TERMINATIONS = '/employee-changes/termination';
const termination = { employee_id: 'maple-bakery-001', termination_date: '2026-03-31' };

/** The simulator's control requests, without a key: they are not part of the interface. */
async function order(simulator: Simulator, orders?: unknown) {
  const posted = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const request = orders === undefined ? {} : { ...posted, body: JSON.stringify(orders) };
  const answer = await fetch(`${simulator.url}/__control`, request);
  // biome-ignore lint/suspicious/noExplicitAny: tests look at single fields of it.
  return { status: answer.status, json: (await answer.json()) as any };
}

t.test('the control page shows the faults and received requests without bodies or secrets', async (t) => {
  const simulator = await start(t, { faults: ['latency=1ms:5'] });
  await post(simulator, TERMINATIONS, termination, { 'idempotency-key': 'k-1' });
  const { status, json } = await order(simulator);
  t.equal(status, 200);
  const request = { kind: 'termination', subject: 'employee:maple-bakery-001', idempotency_key: 'k-1' };
  t.match(json, {
    faults: [{ fault: 'latency=1ms:5', met: 1, left: 4 }],
    requests: [{ ...request, body_hash: /^[0-9a-f]{64}$/, applied: true }],
    ...{ endpoints: [], scenario: null, deliveries: [] },
  });
  t.notOk('body' in json.requests[0]);
  t.notMatch(JSON.stringify(json), SECRET);
  t.equal(simulator.requests().length, 1, 'control requests are not recorded');
});

test('a control request takes effect immediately', async (t, simulator) => {
  const json = { faults: [{ fault: 'error=503:1', met: 0, left: 1 }, { left: null }] };
  t.match(await order(simulator, { faults: ['error=503:1', 'forbidden@acme'] }), { status: 200, json });
  t.equal((await post(simulator, TERMINATIONS, termination)).status, 503);
  t.equal((await order(simulator, { faults: [], api_key: 'the-new-key' })).status, 200);
  t.equal((await post(simulator, TERMINATIONS, termination)).status, 401);
  await order(simulator, { webhook_secrets: [OTHER_SECRET, SECRET] });
  t.same(simulator.secrets(), [OTHER_SECRET, SECRET]);
});

test('invalid control requests are rejected by field and change nothing', async (t, simulator) => {
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
  const said: string[] = [];
  const messaged = (text: string) => said.push(text);
  const { simulator, arrived } = await subscribed(t, undefined, { messaged });
  const playing = { scenario: { name: 'deprecated', state: 'playing' } };
  t.match(await order(simulator, { scenario: 'deprecated' }), { status: 200, json: playing });
  const refused = { status: 409, json: { error: /wait until it ends/ } };
  t.match(await order(simulator, { scenario: 'ties' }), refused);
  const ties = simulator.playScenario('ties', () => {});
  await t.rejects(ties, /deprecated is already playing/);
  await arrived(2);
  await simulator.settled();
  await new Promise(setImmediate);
  const { json } = await order(simulator);
  t.match(json.scenario, { name: 'deprecated', state: 'played' });
  t.same(json.scenario.messages, said);
  t.match(said.at(-1), /^deprecated is done/);
});
