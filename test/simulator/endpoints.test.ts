import { createHash } from 'node:crypto';
import t from 'tap';
import { makeCensus } from '../../src/simulator/world.ts';
import { API_KEY, post, start } from './start.ts';

const CENSUS_PATH = '/employer/maple-bakery/census';
const EMPLOYEE = 'maple-bakery-001';
const upload = makeCensus(1, 'maple-bakery', 3);
const address = { line1: '1 Birch Lane', city: 'Boise', state: 'ID', zip_code: '83702' };
const payRate = { amount: '31.50', period: 'hourly', effective_start: '2026-03-01' };
const hire = { ...upload.employees[0], employee_id: 'maple-bakery-900', employer_id: 'maple-bakery' };

const CHANGES = [
  { kind: 'new-hire', good: hire, bad: { ...hire, hire_date: '2026-02-30' }, field: 'hire_date' },
  {
    kind: 'termination',
    good: { employee_id: EMPLOYEE, termination_date: '2026-03-31' },
    bad: { employee_id: EMPLOYEE },
    field: 'termination_date',
  },
  {
    kind: 'demographic',
    good: { employee_id: EMPLOYEE, address },
    bad: { employee_id: EMPLOYEE, address: { ...address, state: 'Idaho' } },
    field: 'address.state',
  },
  {
    kind: 'compensation-change',
    good: { employee_id: EMPLOYEE, pay_rate: payRate, employment_status: 'variable_hours' },
    bad: { employee_id: EMPLOYEE },
    field: 'body',
  },
];

t.test('a valid census is accepted and replaces the employees', async (t) => {
  const simulator = await start(t);
  t.strictSame(await post(simulator, CENSUS_PATH, upload), { status: 200, body: {} });
  t.strictSame([...simulator.employeesOf('maple-bakery').values()], upload.employees);
  t.equal(simulator.employeesOf('harbor-clinic').size, 0);
});

t.test('a census that breaks the contract is rejected with field and rule, never a value', async (t) => {
  const simulator = await start(t);
  const [first, ...rest] = upload.employees;
  const broken = { ...upload, employees: [{ ...first, dob: '1988-02-30', ssn: 123456789 }, ...rest] };
  const answer = await post(simulator, CENSUS_PATH, broken);
  t.equal(answer.status, 422);
  t.strictSame(Object.keys(answer.body.details!).sort(), ['employees[0].dob', 'employees[0].ssn']);
  t.equal(answer.body.details!['employees[0].dob'], 'must be a real date, YYYY-MM-DD');
  t.notMatch(JSON.stringify(answer.body), /1988|123456789/);
  t.equal(simulator.employeesOf('maple-bakery').size, 0);
});

for (const { kind, good, bad, field } of CHANGES) {
  t.test(`${kind}: a valid body is applied, an invalid one rejected with its field`, async (t) => {
    const simulator = await start(t);
    t.strictSame(await post(simulator, `/employee-changes/${kind}`, good), { status: 200, body: {} });
    const refused = await post(simulator, `/employee-changes/${kind}`, bad);
    t.equal(refused.status, 422);
    t.strictSame(Object.keys(refused.body.details!), [field]);
  });
}

t.test('employment changes update the employees', async (t) => {
  const simulator = await start(t);
  await post(simulator, CENSUS_PATH, upload);
  for (const { kind, good } of CHANGES) await post(simulator, `/employee-changes/${kind}`, good);
  const employees = simulator.employeesOf('maple-bakery');
  t.strictSame(employees.get(EMPLOYEE), {
    ...upload.employees[0],
    termination_date: '2026-03-31',
    address,
    pay_rate: [payRate],
    employment_status: 'variable_hours',
  });
  const { employer_id: _, ...hired } = hire;
  t.strictSame(employees.get('maple-bakery-900'), hired);
});

t.test('an unknown employer or employee returns 404 with an error', async (t) => {
  const simulator = await start(t);
  const notFound = (error: string) => ({ status: 404, body: { error, details: {} } });
  t.strictSame(await post(simulator, '/employer/nobody/census', upload), notFound('employer not found'));
  const elsewhere = { ...hire, employer_id: 'nobody' };
  t.strictSame(
    await post(simulator, '/employee-changes/new-hire', elsewhere),
    notFound('employer not found'),
  );
  for (const { kind, good } of CHANGES.slice(1)) {
    const stranger = { ...good, employee_id: 'nobody' };
    t.strictSame(
      await post(simulator, `/employee-changes/${kind}`, stranger),
      notFound('employee not found'),
    );
  }
});

t.test('a wrong key returns 401 before the body is read', async (t) => {
  const simulator = await start(t);
  for (const authorization of ['', 'Bearer', 'Bearer wrong', API_KEY, `Basic ${API_KEY}`]) {
    const answer = await post(simulator, CENSUS_PATH, upload, { authorization });
    t.strictSame(answer, { status: 401, body: { error: 'the API key is missing or wrong', details: {} } });
  }
  t.equal(simulator.employeesOf('maple-bakery').size, 0);
  t.ok(simulator.requests().every((request) => request.status === 401 && request.body === null));
});

t.test('a repeated Idempotency-Key returns the first response and is not applied twice', async (t) => {
  const simulator = await start(t);
  const headers = { 'idempotency-key': 'k-1' };
  await post(simulator, CENSUS_PATH, upload, headers);
  const other = { ...upload, employees: upload.employees.slice(2) };
  t.strictSame(await post(simulator, CENSUS_PATH, other, headers), { status: 200, body: {} });
  t.equal(simulator.employeesOf('maple-bakery').size, 3);
  t.strictSame(
    simulator.requests().map((request) => [request.idempotencyKey, request.repeated]),
    [
      ['k-1', false],
      ['k-1', true],
    ],
  );
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
