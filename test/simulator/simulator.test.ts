import t from 'tap';
import { deduction } from '../../src/contract/deduction.ts';
import { subscribed } from './receiver.ts';
import { post, start } from './start.ts';

const NOON = new Date('2026-03-15T12:00:00Z');

t.test('a census upload completes its sync automatically', async (t) => {
  const { simulator, ...receiver } = await subscribed(t);
  const asked = await simulator.requestCensus('maple-bakery');
  await post(simulator, '/employer/maple-bakery/census', simulator.world.get('maple-bakery'));
  await simulator.settled();
  const bodies = receiver.arrivals.map(({ text }) => JSON.parse(text));
  t.strictSame(bodies[0], asked.body);
  t.match(bodies, [
    { event_type: 'employee-census.sync-request', data: { employer_id: 'maple-bakery' } },
    { event_type: 'employee-census.sync-complete', data: { employer_id: 'maple-bakery' } },
  ]);
  t.ok(bodies.every((body) => body.created_at === undefined));
});

t.test('only an applied census completes a sync', async (t) => {
  const { simulator, ...receiver } = await subscribed(t);
  await post(simulator, '/employer/maple-bakery/census', { organization: {}, employees: [] });
  const census = simulator.world.get('maple-bakery');
  await post(simulator, '/employer/nobody/census', census);
  for (const _ of [1, 2, 3])
    await post(simulator, '/employer/maple-bakery/census', census, { 'idempotency-key': 'k-1' });
  await simulator.settled();
  t.equal(receiver.arrivals.length, 1);
});

t.test('enrolling creates a valid deduction for each line, effective this month', async (t) => {
  const simulator = await start(t, { now: () => NOON });
  const made = simulator.enrol('maple-bakery-001', ['medical', 'hsa']);
  t.match(made, [
    { body: { event_type: 'employee.deduction-updated', data: { line_of_coverage: 'medical' } } },
    { body: { event_type: 'employee.deduction-updated', data: { line_of_coverage: 'hsa' } } },
  ]);
  for (const { body } of made) {
    t.strictSame(deduction.problems(body.data), []);
    t.match(body.data, { employee_id: 'maple-bakery-001', effective_start: '2026-03-01T00:00:00Z' });
  }
  const data = made.map(({ body }) => body.data);
  t.strictSame(simulator.deductions(), data);
});

t.test('only an employee whom a census or a hire has enrolls', async (t) => {
  const simulator = await start(t, { now: () => NOON });
  const unknown = (id: string) => new RegExp(`^no census or hire has the employee ${id}: `);
  const refuses = (...ids: string[]) => {
    for (const id of ids) t.throws(() => simulator.enrol(id, ['medical']), { message: unknown(id) }, id);
  };
  const accepts = (...ids: string[]) => {
    for (const id of ids) t.equal(simulator.enrol(id, ['medical']).length, 1, id);
  };
  refuses('emp-404', 'maple-bakery-1', '');
  accepts('maple-bakery-001', 'harbor-clinic-001');

  // Payroll's own census replaces the simulated one.
  const { organization, employees } = simulator.world.get('maple-bakery')!;
  const [first, second] = employees.map((employee, nth) => ({ ...employee, employee_id: `emp-${nth + 1}` }));
  await post(simulator, '/employer/maple-bakery/census', { organization, employees: [first] });
  refuses('maple-bakery-001', 'emp-2');
  accepts('emp-1', 'harbor-clinic-001');
  await post(simulator, '/employer/maple-bakery/census', { organization, employees: [second] });
  accepts('emp-1', 'emp-2');
  const hire = { ...first, employee_id: 'emp-3', employer_id: 'maple-bakery' };
  await post(simulator, '/employee-changes/new-hire', hire);
  accepts('emp-3');

  const [made] = simulator.enrol('emp-1', ['dental']);
  const { id } = made!.body.data as { id: string };
  t.throws(() => simulator.changeDeduction(id, { employee_id: 'emp-404' }), { message: unknown('emp-404') });
  t.throws(() => simulator.changeDeduction('ded-404', {}), {
    message: /^no deduction ded-404 was created here/,
  });
  t.throws(() => simulator.endDeduction(id, '12/31/2026'), { message: /a real date/ });
  t.match(simulator.endDeduction(id, '2026-12-31'), {
    body: { data: { effective_end: '2026-12-31T00:00:00Z' } },
  });
});

t.test('created_at is strictly increasing even when the clock does not advance', async (t) => {
  const simulator = await start(t, { now: () => NOON });
  const events = simulator.enrol('maple-bakery-001', ['medical', 'dental', 'vision']);
  const times = events.map(({ body }) => body.created_at);
  t.strictSame(times, ['2026-03-15T12:00:00.000Z', '2026-03-15T12:00:00.001Z', '2026-03-15T12:00:00.002Z']);
});

t.test('a restart with the same seed creates the same deductions and new events', async (t) => {
  const make = async (now: Date) => (await start(t, { now: () => now })).enrol('maple-bakery-001');
  const first = await make(NOON);
  t.strictSame(await make(NOON), first, 'clock and seed determine everything');
  const later = await make(new Date(NOON.getTime() + 1));
  const [data, again] = [first, later].map((events) => events.map(({ body }) => body.data));
  t.strictSame(again, data);
  const ids = [...first, ...later].flatMap(({ id, body }) => [id, body.id]);
  t.equal(new Set(ids).size, 4 * first.length);
});
