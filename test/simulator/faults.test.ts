import t from 'tap';
import { createFaults, parseFault } from '../../src/simulator/faults.ts';
import { makeCensus } from '../../src/simulator/world.ts';
import { manualTimer } from './manual-timer.ts';
import { API_KEY, post, start } from './start.ts';

const CENSUS_PATH = '/employer/maple-bakery/census';
const upload = makeCensus(1, 'maple-bakery', 3);
const termination = (employeeId: string) => ({ employee_id: employeeId, termination_date: '2026-03-31' });
const TERMINATIONS = '/employee-changes/termination';

t.test('a fault is NAME[=VALUE][:COUNT][@ID]', async (t) => {
  const read = (text: string) => parseFault(text);
  const usual = { value: 0, times: null, id: null };
  t.same(read('hang'), { ...usual, name: 'hang' });
  t.same(read('latency=200ms'), { ...usual, name: 'latency', value: 200 });
  t.same(read('latency=2s:3'), { ...usual, name: 'latency', value: 2_000, times: 3 });
  t.same(read('rate-limit:3'), { ...usual, name: 'rate-limit', value: 1_000, times: 3 });
  t.same(read('error=503:2@a:b@c='), { name: 'error', value: 503, times: 2, id: 'a:b@c=' });
  t.same(read('forbidden@maple bakery'), { ...usual, name: 'forbidden', id: 'maple bakery' });
  t.same(read('duplicate=3:10'), { ...usual, name: 'duplicate', value: 3, times: 10 });
});

t.test('an invalid fault is rejected with the syntax', async (t) => {
  const refusals: Record<string, RegExp> = {
    '': /NAME\[=VALUE\]\[:COUNT\]\[@ID\], NAME one of latency, hang,/,
    explode: /NAME one of/,
    toString: /NAME one of/,
    'Latency=1s': /NAME one of/,
    latency: /latency needs a value, such as latency=200ms/,
    'latency=': /latency takes a time/,
    'latency=5': /latency takes a time/,
    'latency=0ms': /latency takes a time/,
    'latency=61m': /latency takes a time of at most an hour/,
    'hang=3': /hang takes no value; a count is written hang:3/,
    'error=404': /error takes a status of 500 to 599/,
    'reset:0': /The count of reset must be 1 to/,
    'reset:many': /The count of reset must be/,
    'reset:': /The count of reset must be/,
    'reset@': /NAME one of/,
    'duplicate=1': /duplicate takes a number of 2 to/,
    'reorder:2@acme': /reorder takes no @ID/,
  };
  for (const [text, message] of Object.entries(refusals)) t.throws(() => parseFault(text), { message }, text);
});

t.test('the first matching fault with uses left applies, and latency in addition', async (t) => {
  const faults = createFaults(['latency=5ms', 'reset:1@b', 'error:1', 'hang@a']);
  const met = (id: string) => {
    const { fault, delayMs } = faults.meetRequest([id]);
    return `${fault?.name ?? null} ${delayMs}`;
  };
  t.same(['a', 'b', 'b', 'a', 'c'].map(met), ['error 5', 'reset 5', 'null 5', 'hang 5', 'null 5']);
  t.same(faults.states(), [
    { fault: 'latency=5ms', met: 5, left: null },
    { fault: 'reset:1@b', met: 1, left: 0 },
    { fault: 'error:1', met: 1, left: 0 },
    { fault: 'hang@a', met: 1, left: null },
  ]);
  t.throws(() => faults.set(['hang', 'nonsense']));
  t.equal(faults.states().length, 4, 'a rejected fault changes nothing');
});

const ANSWERED = { 'rate-limit': 429, error: 500, 'wrong-key': 401, forbidden: 403 };
for (const [fault, status] of Object.entries(ANSWERED)) {
  t.test(`${fault} returns ${status} once and applies nothing`, async (t) => {
    const simulator = await start(t, { faults: [`${fault}:1`] });
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
    const body = JSON.stringify(upload);
    const answer = await fetch(simulator.url + CENSUS_PATH, { method: 'POST', headers, body });
    t.equal(answer.status, status);
    t.equal(answer.headers.get('retry-after'), fault === 'rate-limit' ? '1' : null);
    t.match(await answer.json(), { error: String });
    t.equal(simulator.employeesOf('maple-bakery').size, 0);
    t.match(simulator.requests(), [{ status, applied: false, fault, subject: 'employer:maple-bakery' }]);
    t.equal((await post(simulator, CENSUS_PATH, upload)).status, 200);
  });
}

const SILENT = { reset: 'not applied', 'lost-response': 'applied', 'half-response': 'applied' };
for (const [fault, effect] of Object.entries(SILENT)) {
  t.test(`${fault}: the response is incomplete, and the request is ${effect}`, async (t) => {
    const simulator = await start(t, { faults: [`${fault}:1`] });
    const applied = effect === 'applied';
    const headers = { 'idempotency-key': 'k-1' };
    await t.rejects(post(simulator, CENSUS_PATH, upload, headers));
    t.equal(simulator.employeesOf('maple-bakery').size, applied ? 3 : 0);
    t.equal((await post(simulator, CENSUS_PATH, upload, headers)).status, 200);
    t.match(simulator.requests(), [
      { status: null, applied, fault, idempotencyKey: 'k-1' },
      { status: 200, applied: !applied, repeated: applied, fault: null },
    ]);
  });
}

t.test('a hanging request is recorded immediately and reset when the faults are removed', async (t) => {
  const simulator = await start(t, { faults: ['hang'] });
  const hanging = t.rejects(post(simulator, CENSUS_PATH, upload));
  while (simulator.requests().length === 0) await new Promise(setImmediate);
  t.match(simulator.requests(), [{ status: null, applied: false, fault: 'hang' }]);
  simulator.setFaults([]);
  await hanging;
});

t.test('latency delays the response, not the effect', async (t) => {
  const { wait, pass } = manualTimer();
  const simulator = await start(t, { wait, faults: ['latency=3s:1'] });
  const answered = post(simulator, CENSUS_PATH, upload);
  await pass(3_000);
  t.equal(simulator.employeesOf('maple-bakery').size, 3);
  t.equal((await answered).status, 200);
});

t.test('a fault for one employer affects only its census, hires and employees', async (t) => {
  const simulator = await start(t, { faults: ['forbidden@maple-bakery'] });
  const hire = { ...upload.employees[0], employee_id: 'new', employer_id: 'maple-bakery' };
  const statuses = [
    await post(simulator, CENSUS_PATH, upload),
    await post(simulator, '/employee-changes/new-hire', hire),
    await post(simulator, TERMINATIONS, termination('maple-bakery-001')),
    await post(simulator, TERMINATIONS, termination('harbor-clinic-001')),
    await post(simulator, '/employer/harbor-clinic/census', upload),
  ].map(({ status }) => status);
  t.same(statuses, [403, 403, 403, 200, 200]);
  simulator.setFaults(['forbidden@maple-bakery-002']);
  t.equal((await post(simulator, TERMINATIONS, termination('maple-bakery-001'))).status, 200);
  t.equal((await post(simulator, TERMINATIONS, termination('maple-bakery-002'))).status, 403);
});
