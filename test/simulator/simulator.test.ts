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
